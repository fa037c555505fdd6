package load

import "math/rand/v2"

// Order is the order in which n events are sent, by index: each once, and about three in a hundred twice, as clients do that got no
// answer. A third of the second copies follows at once, so that both are under way together; the others come later.
func Order(seed uint64, n int) []int {
	r := rand.New(rand.NewPCG(seed, 0xa9a14))
	due := map[int][]int{} // position in the sequence → copies to send before it
	order := make([]int, 0, n+n/25)
	for i := range n {
		order = append(order, due[i]...)
		delete(due, i)
		order = append(order, i)
		switch p := r.IntN(100); {
		case p == 0:
			order = append(order, i)
		case p <= 2:
			at := i + 1 + r.IntN(min(5000, n))
			if at < n {
				due[at] = append(due[at], i)
			} else {
				order = append(order, i)
			}
		}
	}
	return order
}

// Once is the order in which each of n events is sent once.
func Once(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
