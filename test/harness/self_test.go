package harness

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main(m, map[string]func(){"greeter": func() {
		fmt.Println(os.Getenv("FOOTFALL_A"), os.Getenv("FOOTFALL_B"), os.Getenv(as), os.Args[1])
		select {}
	}, "quitter": func() {}})
}

func TestSelf(t *testing.T) {
	t.Setenv("FOOTFALL_B", "of the caller")
	if got, want := Launch(t, Self(t, "greeter", []string{"FOOTFALL_A=1"}, "hello")), "1   hello"; got != want {
		t.Errorf("it printed %q, want %q", got, want)
	}
	if err := Self(t, "quitter", nil).Run(); err != nil {
		t.Errorf("a program that returns: %v", err)
	}
}
