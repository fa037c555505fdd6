//go:build race

package main

// raceDetector multiplies memory.
const raceDetector = true
