package plot

import (
	"fmt"
	"html/template"
	"math"
)

// Bar is the bar of a share, from 0 to 1. The number stands beside it: for those who do not see the bar it is not there.
func Bar(share float64) template.HTML {
	if math.IsNaN(share) || share < 0 {
		share = 0
	}
	return template.HTML(fmt.Sprintf(`<svg class="bar" aria-hidden="true"><rect width="%.4g%%" height="100%%"/></svg>`, 100*math.Min(share, 1)))
}
