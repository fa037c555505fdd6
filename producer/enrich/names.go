package enrich

import (
	"strings"

	"footfall/models"
)

// rule says what a user agent is that has a text.
type rule struct{ text, name string }

// rules has a list for each of models.Agent's names, in their order. The first rule of a list that applies decides. Browsers also name those
// that they want to be served like: Edge says Chrome and Safari, so it stands before them. A browser that is not listed is the one that it
// names. An iPad that asks for desktop pages looks like a Mac, but for browsers that only iOS has.
var rules = [...][]rule{
	{ // browsers
		{"Instagram", "Instagram"}, {"FBAN/", "Facebook"}, {"FBAV/", "Facebook"}, {"FB_IAB/", "Facebook"},
		{"musical_ly", "TikTok"}, {"BytedanceWebview", "TikTok"}, {"MicroMessenger/", "WeChat"},
		{"LinkedInApp", "in-app"}, {"Snapchat", "in-app"}, {"Pinterest", "in-app"}, {"Twitter", "in-app"}, {"GSA/", "in-app"}, {" Line/", "in-app"},
		{"SamsungBrowser/", "Samsung Internet"}, {"OPR/", "Opera"}, {"OPT/", "Opera"}, {"Opera", "Opera"},
		{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"Edge/", "Edge"},
		{"YaBrowser/", "Yandex Browser"}, {"UCBrowser/", "UC Browser"},
		{"Trident/", "Internet Explorer"}, {"MSIE ", "Internet Explorer"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"; wv)", "in-app"}, {"Web0S", models.OtherAgent}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"},
		{"Linux", models.OtherAgent}, {"PlayStation", models.OtherAgent}, {"BB10", models.OtherAgent}, {"Safari/", "Safari"}, {"AppleWebKit/", "in-app"},
	},
	{ // systems
		{"Windows", "Windows"}, {"like Mac OS X", "iOS"}, {"CriOS/", "iOS"}, {"FxiOS/", "iOS"}, {"EdgiOS/", "iOS"},
		{"HarmonyOS", "HarmonyOS"}, {"OpenHarmony", "HarmonyOS"}, {"Tizen", "Tizen"}, {"Web0S", "webOS"}, {"KAIOS", "KaiOS"},
		{"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Macintosh", "macOS"}, {"Linux", "Linux"},
	},
	{ // devices
		{"SMART-TV", "tv"}, {"SmartTV", "tv"}, {"BRAVIA", "tv"}, {"; AFT", "tv"},
		{"CrKey", "tv"}, {"Roku", "tv"}, {"HbbTV", "tv"}, {" TV ", "tv"}, {"Web0S", "tv"},
		{"PlayStation", "console"}, {"Xbox", "console"}, {"Nintendo", "console"},
		{"iPhone", "phone"}, {"iPad", "tablet"}, {"CriOS/", "tablet"}, {"FxiOS/", "tablet"}, {"EdgiOS/", "tablet"},
		{"Tablet PC", "desktop"}, {"Tablet", "tablet"}, {"Mobi", "phone"}, {"Opera Mini", "phone"}, {"KAIOS", "phone"}, {"Android", "tablet"},
		{"Windows", "desktop"}, {"Macintosh", "desktop"}, {"X11", "desktop"},
	},
}

// candidate is a rule by its list and its place there.
type candidate struct {
	rule
	list, place int
}

// starting are the rules of all lists, by the first byte of their texts: an agent is read once, however many rules there are.
var starting = func() (by [256][]candidate) {
	for list, rules := range rules {
		for place, r := range rules {
			by[r.text[0]] = append(by[r.text[0]], candidate{r, list, place})
		}
	}
	return by
}()

// tells finds the names.
func tells(agent string) (told models.Agent) {
	if agent == "" {
		return told
	}
	var places [len(rules)]int
	names := told.Names()
	for list := range rules {
		*names[list], places[list] = models.OtherAgent, len(rules[list])
	}
	for i := range len(agent) - 1 {
		some := starting[agent[i]]
		for j := range some {
			if c := &some[j]; c.text[1] == agent[i+1] && c.place < places[c.list] && strings.HasPrefix(agent[i:], c.text) {
				*names[c.list], places[c.list] = c.name, c.place
			}
		}
	}
	return told
}
