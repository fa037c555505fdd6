// Package admission decides who may write what, and how much of what is scarce each tenant gets. It reads no bodies and
// writes no answers: intake asks it, and answers with the answer.Refusal that it returns.
package admission
