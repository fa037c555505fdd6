package enrich

import (
	"slices"
	"strings"
	"testing"

	"footfall/models"
)

func TestNamesOfAgents(t *testing.T) {
	e := open(t, Options{})
	seen, agents := map[string]bool{}, ""
	tells := func(field int, want, agent string) {
		t.Helper()
		var c models.Click
		e.Agent(agent).Fill(&c)
		kind := models.AgentFields[field].Name
		if got := *c.Names()[field]; got != want {
			t.Errorf("%q: its %s is %s, want %s", agent, kind, got, want)
		}
		seen[kind+want] = true
		agents += agent + "\n"
	}
	f := func(browser, system, device, agent string) {
		t.Helper()
		tells(0, browser, agent)
		tells(1, system, agent)
		tells(2, device, agent)
	}
	const (
		mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) "
		win     = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) "
		linux   = "Mozilla/5.0 (X11; Linux x86_64) "
		android = "Mozilla/5.0 (Linux; Android 10; K) "
		iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		ipad    = "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		chrome  = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
		mobile  = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36"
		webView = "Mozilla/5.0 (Linux; Android 14; SM-S911B Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/125.0.6422.165 Mobile Safari/537.36"
	)

	// Browsers of desktops.
	f("Chrome", "Windows", "desktop", win+chrome)
	f("Chrome", "macOS", "desktop", mac+chrome)
	f("Chrome", "Linux", "desktop", linux+chrome)
	f("Chrome", "ChromeOS", "desktop", "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) "+chrome)
	f("Edge", "Windows", "desktop", win+chrome+" Edg/126.0.0.0")
	f("Edge", "macOS", "desktop", mac+chrome+" Edg/126.0.0.0")
	f("Edge", "Windows", "desktop", win+"AppleWebKit/537.36 (KHTML, like Gecko) Chrome/70.0.3538.102 Safari/537.36 Edge/18.19042")
	f("Firefox", "Windows", "desktop", "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0")
	f("Firefox", "macOS", "desktop", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:127.0) Gecko/20100101 Firefox/127.0")
	f("Firefox", "Linux", "desktop", "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0")
	f("Safari", "macOS", "desktop", mac+"AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15") // also an iPad's that asks for desktop pages
	f("in-app", "macOS", "desktop", mac+"AppleWebKit/605.1.15 (KHTML, like Gecko)")
	f("Opera", "Windows", "desktop", win+chrome+" OPR/111.0.0.0")
	f("Opera", "Windows", "desktop", "Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18")
	f("Yandex Browser", "Windows", "desktop", win+"AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 YaBrowser/24.6.0.0 Safari/537.36")
	f("Internet Explorer", "Windows", "desktop", "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko")
	f("Internet Explorer", "Windows", "desktop", "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; SLCC2; .NET CLR 2.0.50727; Tablet PC 2.0)")
	f("other", "Linux", "desktop", linux+"AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/605.1.15") // GNOME Web
	f("other", "other", "desktop", "Mozilla/5.0 (X11; FreeBSD amd64) Konqueror/5.0")

	// Browsers of phones and tablets.
	f("Chrome", "Android", "phone", android+mobile)
	f("Chrome", "Android", "tablet", android+chrome)
	f("Chrome", "iOS", "phone", iphone+"CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1")
	f("Chrome", "iOS", "tablet", ipad+"CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1")
	f("Chrome", "iOS", "tablet", mac+"AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126 Version/11.1.1 Safari/605.1.15")
	f("Safari", "iOS", "phone", iphone+"Version/17.5 Mobile/15E148 Safari/604.1")
	f("Safari", "iOS", "phone", "Mozilla/5.0 (iPod touch; CPU iPhone OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1")
	f("Safari", "iOS", "tablet", ipad+"Version/17.5 Mobile/15E148 Safari/604.1")
	f("Firefox", "Android", "phone", "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0")
	f("Firefox", "Android", "tablet", "Mozilla/5.0 (Android 14; Tablet; rv:127.0) Gecko/127.0 Firefox/127.0")
	f("Firefox", "iOS", "phone", iphone+"FxiOS/127.0 Mobile/15E148 Safari/605.1.15")
	f("Firefox", "iOS", "tablet", mac+"AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/127.0 Safari/605.1.15")
	f("Edge", "Android", "phone", android+mobile+" EdgA/125.0.0.0")
	f("Edge", "iOS", "phone", iphone+"Version/17.0 EdgiOS/125.0.2535.96 Mobile/15E148 Safari/604.1")
	f("Edge", "Windows", "phone", "Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/52.0.2743.116 Mobile Safari/537.36 Edge/15.15254")
	f("Opera", "Android", "phone", android+mobile+" OPR/82.0.0.0")
	f("Opera", "Android", "phone", "Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16")
	f("Opera", "other", "phone", "Opera/9.80 (J2ME/MIDP; Opera Mini/7.1.32052/29.3709; U; en) Presto/2.8.119 Version/11.10")
	f("Opera", "iOS", "phone", iphone+"Version/17.5 Mobile/15E148 Safari/604.1 OPT/4.7.0")
	f("Samsung Internet", "Android", "phone", android+"AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36")
	f("Samsung Internet", "Android", "tablet", android+"AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Safari/537.36")
	f("UC Browser", "Android", "phone", "Mozilla/5.0 (Linux; U; Android 10; en-US; RMX1911 Build/QKQ1.200209.002) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/100.0.4896.58 UCBrowser/13.7.2.1636 Mobile Safari/537.36")
	f("Yandex Browser", "Android", "phone", "Mozilla/5.0 (Linux; arm_64; Android 13; M2101K6G) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 YaBrowser/24.4.7.101.00 SA/3 Mobile Safari/537.36")
	f("other", "Android", "phone", "Mozilla/5.0 (Linux; U; Android 4.0.3; de-de; Galaxy S II Build/GRJ22) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30")
	f("other", "other", "phone", "Mozilla/5.0 (BB10; Touch) AppleWebKit/537.10+ (KHTML, like Gecko) Version/10.0.9.2372 Mobile Safari/537.10+")
	f("Chrome", "HarmonyOS", "phone", "Mozilla/5.0 (Phone; OpenHarmony 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36 ArkWeb/4.1.6.1 Mobile HuaweiBrowser/5.0.4.300")
	f("Chrome", "HarmonyOS", "phone", "Mozilla/5.0 (Linux; Android 10; HarmonyOS; ANA-AN00; HMSCore 6.13.0.321) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/99.0.4844.88 HuaweiBrowser/14.0.5.302 Mobile Safari/537.36")
	f("Firefox", "KaiOS", "phone", "Mozilla/5.0 (Mobile; Nokia_8110_4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5")

	// Browsers inside apps.
	f("Facebook", "iOS", "phone", iphone+"Mobile/15E148 [FBAN/FBIOS;FBAV/468.0.0.37.104;FBBV/611842137;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS;FBSV/17.5.1;FBSS/3;FBID/phone;FBLC/it_IT;FBOP/5]")
	f("Facebook", "iOS", "tablet", ipad+"Mobile/15E148 [FBAN/FBIOS;FBAV/468.0.0.37.104;FBDV/iPad13,8;FBMD/iPad;FBSN/iPadOS;FBSV/17.5]")
	f("Facebook", "Android", "phone", webView+" [FB_IAB/FB4A;FBAV/468.0.0.55.77;]")
	f("Facebook", "Android", "phone", webView+" [FB_IAB/Orca-Android;FBAV/461.0.0.51.109;]")
	f("Instagram", "iOS", "phone", iphone+"Mobile/21F90 Instagram 335.1.8.26.85 (iPhone14,5; iOS 17_5_1; it_IT; it; scale=3.00; 1170x2532; 609775437)")
	f("Instagram", "Android", "phone", webView+" Instagram 335.0.0.32.92 Android (34/14; 480dpi; 1080x2115; samsung; SM-S911B; dm1q; qcom; it_IT; 607735288)")
	f("TikTok", "iOS", "phone", iphone+"Mobile/15E148 musical_ly_34.9.0 JsSdk/2.0 NetType/WIFI Channel/App Store ByteLocale/it Region/IT BytedanceWebview/d8a21c6")
	f("TikTok", "Android", "phone", webView+" trill_340903 JsSdk/1.0 NetType/WIFI Channel/googleplay AppName/trill app_version/34.9.3 ByteLocale/it BytedanceWebview/d8a21c6")
	f("WeChat", "iOS", "phone", iphone+"Mobile/15E148 MicroMessenger/8.0.49(0x18003137) NetType/WIFI Language/en")
	f("in-app", "iOS", "phone", iphone+"Mobile/15E148 [LinkedInApp]/9.29.8962")
	f("in-app", "iOS", "phone", iphone+"GSA/321.0.639432843 Mobile/15E148 Safari/604.1")
	f("in-app", "iOS", "phone", iphone+"Mobile/15E148 Safari/604.1 Line/14.8.0")
	f("in-app", "iOS", "phone", iphone+"Mobile/15E148 Snapchat/12.90.0.46 (like Safari/8617.2.4.10.8, panda)")
	f("in-app", "iOS", "phone", iphone+"Mobile/15E148 Twitter for iPhone/10.44")
	f("in-app", "iOS", "tablet", ipad+"Mobile/15E148")
	f("in-app", "Android", "phone", webView)
	f("in-app", "Android", "phone", webView+" [Pinterest/Android]")

	// Televisions, consoles, and the rest.
	f("Samsung Internet", "Tizen", "tv", "Mozilla/5.0 (SMART-TV; LINUX; Tizen 6.5) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/4.0 Chrome/85.0.4183.93 TV Safari/537.36")
	f("other", "webOS", "tv", "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.128 Safari/537.36 WebAppManager")
	f("Chrome", "Android", "tv", "Mozilla/5.0 (Linux; Android 10; BRAVIA 4K VH2 Build/QTG3.200305.006.S292) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.6422.165 Safari/537.36 OMI/4.23")
	f("Chrome", "Android", "tv", "Mozilla/5.0 (Linux; Android 9; AFTMM) AppleWebKit/537.36 (KHTML, like Gecko) Silk/126.2.1 like Chrome/126.0.6478.122 Safari/537.36")
	f("Chrome", "Android", "tv", "Mozilla/5.0 (Linux; Android 12.0; Build/STTL.240206.002) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36 CrKey/1.56.500000 DeviceType/AndroidTV")
	f("Opera", "Linux", "tv", "Mozilla/5.0 (Linux; ) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/88.0.4324.182 Safari/537.36 OPR/46.0.2207.0 OMI/4.21.3.MIKE.227 Model/Hisense HbbTV/1.5.1")
	f("other", "other", "tv", "Roku/DVP-12.5 (12.5.0.4178-C2)")
	f("Edge", "Windows", "console", "Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox Series X) "+chrome+" Edge/44.18363.8131")
	f("other", "other", "console", "Mozilla/5.0 (PlayStation; PlayStation 5/6.50) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.1 Safari/605.1.15")
	f("in-app", "other", "console", "Mozilla/5.0 (Nintendo Switch; WebApplet) AppleWebKit/609.4 (KHTML, like Gecko) NF/6.0.3.15.4 NintendoBrowser/5.1.0.22474")
	f("other", "other", "other", "curl/8.5.0")
	f("other", "other", "other", strings.Repeat("\xff(\x00", 5000))
	f("", "", "", "")

	for i, names := range [...][]string{models.Browsers, models.Systems, models.Devices} {
		kind := models.AgentFields[i].Name
		for _, name := range names {
			if !seen[kind+name] {
				t.Errorf("no agent has the %s %s", kind, name)
			}
		}
		for _, r := range rules[i] {
			if !slices.Contains(names, r.name) || !strings.Contains(agents, r.text) {
				t.Errorf("the rule %v of a %s has no name of models, or no agent here", r, kind)
			}
		}
	}
}

// What a bot clicks has no names.
func TestBotsHaveNoNames(t *testing.T) {
	c := models.Click{Bot: true}
	if open(t, Options{}).Agent(chrome).Fill(&c); c != (models.Click{Bot: true}) {
		t.Errorf("%+v", c)
	}
}
