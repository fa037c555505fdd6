package sqlite

import (
	"testing"

	"footfall/models"
	"footfall/producer/links"
	"footfall/producer/links/linkstest"
)

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	linkstest.Run(t, func(t *testing.T) links.Store {
		s, err := Open(t.Context(), dir, models.DefaultPlan())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}
