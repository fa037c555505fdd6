-- For wrk: sends visits with an id each, and writes the answer to each into a file per thread.
-- Most visits come from many clients, again and again. One in fifty comes from a single client, which the producer must limit.

local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  sent = 0
  answers = io.open(args[1] .. "/answers-" .. number .. ".txt", "w")
  answers:setvbuf("line") -- wrk ends threads without a notice
end

function request()
  sent = sent + 1
  local client = "10." .. number .. "." .. math.floor(sent / 256) % 16 .. "." .. sent % 256
  if sent % 50 == 0 then
    client = "192.0.2.1"
  end
  local body = '{"siteId":"load","guid":"' .. client .. '","id":"' .. number .. "-" .. sent .. '","feature1":"facebook.com"}'
  return wrk.format("POST", "/v1/visits", { ["Content-Type"] = "application/json", ["X-Forwarded-For"] = client }, body)
end

function response(status, headers, body)
  answers:write(status, " ", string.match(body, '"id":"([^"]+)"') or "-", "\n")
end
