package configs

import (
	"github.com/go-viper/mapstructure/v2"
)

// hook turns text into what a field wants: durations ("5s"), lists ("a,b"), log levels ("warn").
func hook() mapstructure.DecodeHookFunc {
	return mapstructure.ComposeDecodeHookFunc(
		mapstructure.StringToTimeDurationHookFunc(),
		mapstructure.StringToSliceHookFunc(","),
		mapstructure.TextUnmarshallerHookFunc(),
	)
}
