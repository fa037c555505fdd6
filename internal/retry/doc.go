// Package retry has what retry loops need: a pause that ends with its context, and its length.
package retry
