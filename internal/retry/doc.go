// Package retry has what retry loops need: which errors trying again cannot mend, and a pause that ends with its context, and its length.
package retry
