package oracle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// An oracle that uses the product's code repeats its mistakes. So it may import only models of this module, use only the two event types
// of models, and call no method of theirs or of their timestamps.
func TestTheOracleSharesNothingButTheEventTypes(t *testing.T) {
	allowed := map[string]bool{"Click": true, "Visit": true}
	methods := map[string]bool{"Count": true, "Sightings": true, "KafkaKey": true, "Validate": true}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range tree.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); strings.HasPrefix(path, "footfall/") && path != "footfall/models" {
				t.Errorf("%s imports %s", file, path)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, ok := sel.X.(*ast.Ident)
			if ok && from.Name == "models" && !allowed[sel.Sel.Name] {
				t.Errorf("%s uses models.%s", fset.Position(sel.Pos()), sel.Sel.Name)
			}
			inner, ok := sel.X.(*ast.SelectorExpr) // e.TS.Week
			if ok && inner.Sel.Name == "TS" {
				t.Errorf("%s calls %s of a timestamp", fset.Position(sel.Pos()), sel.Sel.Name)
			}
			if methods[sel.Sel.Name] {
				t.Errorf("%s calls %s of an event", fset.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}
