//go:build race

package rollup

func init() { raced = true }
