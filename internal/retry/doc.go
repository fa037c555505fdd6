// Package retry has what every loop needs that tries again: a pause that ends with its context, and how long it is.
package retry
