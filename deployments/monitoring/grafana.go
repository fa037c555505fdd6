package monitoring

// What Grafana reads (schema version 39, Grafana 10 to 12), as far as we use it.
type (
	grafanaDashboard struct {
		UID           string         `json:"uid"`
		Title         string         `json:"title"`
		Description   string         `json:"description"`
		Tags          []string       `json:"tags"`
		SchemaVersion int            `json:"schemaVersion"`
		Timezone      string         `json:"timezone"`
		Refresh       string         `json:"refresh"`
		GraphTooltip  int            `json:"graphTooltip"` // 1: a shared crosshair
		Time          grafanaTime    `json:"time"`
		Templating    grafanaList    `json:"templating"`
		Panels        []grafanaPanel `json:"panels"`
	}
	grafanaTime struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	grafanaList struct {
		List []grafanaVariable `json:"list"`
	}
	grafanaVariable struct {
		Name       string          `json:"name"`
		Label      string          `json:"label"`
		Type       string          `json:"type"`
		Query      string          `json:"query"`
		Datasource *grafanaSource  `json:"datasource,omitempty"`
		Refresh    int             `json:"refresh,omitempty"` // 2: when the time range changes
		Multi      bool            `json:"multi"`
		IncludeAll bool            `json:"includeAll"`
		AllValue   string          `json:"allValue,omitempty"`
		Sort       int             `json:"sort,omitempty"` // 1: by name
		Current    *grafanaCurrent `json:"current,omitempty"`
	}
	grafanaCurrent struct {
		Text  string `json:"text"`
		Value string `json:"value"`
	}
	grafanaSource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	grafanaGrid struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	grafanaPanel struct {
		ID          int                 `json:"id"`
		Type        string              `json:"type"`
		Title       string              `json:"title"`
		Description string              `json:"description,omitempty"`
		GridPos     grafanaGrid         `json:"gridPos"`
		Datasource  *grafanaSource      `json:"datasource,omitempty"`
		Targets     []grafanaTarget     `json:"targets,omitempty"`
		FieldConfig *grafanaFieldConfig `json:"fieldConfig,omitempty"`
		Options     *grafanaOptions     `json:"options,omitempty"`
	}
	grafanaTarget struct {
		RefID        string        `json:"refId"`
		Datasource   grafanaSource `json:"datasource"`
		Expr         string        `json:"expr"`
		LegendFormat string        `json:"legendFormat"`
		Range        bool          `json:"range"`
		EditorMode   string        `json:"editorMode"`
	}
	grafanaFieldConfig struct {
		Defaults  grafanaDefaults `json:"defaults"`
		Overrides []struct{}      `json:"overrides"`
	}
	grafanaDefaults struct {
		Unit       string            `json:"unit"`
		Min        *float64          `json:"min,omitempty"`
		Thresholds grafanaThresholds `json:"thresholds"`
		Custom     struct {
			DrawStyle   string `json:"drawStyle"`
			LineWidth   int    `json:"lineWidth"`
			FillOpacity int    `json:"fillOpacity"`
			ShowPoints  string `json:"showPoints"`
			Stacking    struct {
				Mode string `json:"mode"`
			} `json:"stacking"`
			ThresholdsStyle struct {
				Mode string `json:"mode"`
			} `json:"thresholdsStyle"`
		} `json:"custom"`
	}
	grafanaThresholds struct {
		Mode  string        `json:"mode"`
		Steps []grafanaStep `json:"steps"`
	}
	grafanaStep struct {
		Color string   `json:"color"`
		Value *float64 `json:"value"` // null: from the beginning
	}
	grafanaOptions struct {
		Legend  grafanaLegend  `json:"legend"`
		Tooltip grafanaTooltip `json:"tooltip"`
	}
	grafanaLegend struct {
		DisplayMode string   `json:"displayMode"`
		Placement   string   `json:"placement"`
		ShowLegend  bool     `json:"showLegend"`
		Calcs       []string `json:"calcs"`
	}
	grafanaTooltip struct {
		Mode string `json:"mode"`
		Sort string `json:"sort"`
	}
)
