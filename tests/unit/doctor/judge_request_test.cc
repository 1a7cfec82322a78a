#include <gtest/gtest.h>

#include "some_observations.h"

namespace doctor {
namespace {

Followed some_request() {
  Followed request{.url = "http://127.0.0.1/a.cgi", .target = "/a.cgi"};
  request.status = 200;
  request.server = "nginx/1.22";
  request.was_followed = true;
  request.began = {{"event", "began"},
                   {"id", "abc"},
                   {"params",
                    {{"SCRIPT_FILENAME", "/srv/a.cgi"},
                     {"SCRIPT_NAME", "/a.cgi"},
                     {"PATH_INFO", "/x"},
                     {"SERVER_SOFTWARE", "nginx/1.22"}}}};
  request.ended = {{"event", "ended"},     {"program", "/srv/a.cgi"}, {"status", 200},
                   {"arm", "rewind"},      {"level", "compiled"},     {"why", ""},
                   {"latency_us", 1500.0}, {"exit_code", 0},          {"last_error", ""}};
  return request;
}

std::string said(const Followed& request, Mark mark) {
  Observations seen = all_is_well();
  seen.request = request;
  std::string text;
  for (const Finding& finding : diagnose(seen)) {
    if (finding.area != Area::request || finding.mark != mark) continue;
    text += finding.what + " -> " + finding.to_do + "\n";
  }
  return text;
}

#define EXPECT_SAYS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

Followed never_reached(int status) {
  Followed request = some_request();
  request.began = request.ended = {};
  request.status = status;
  return request;
}

TEST(Request, that_went_well_is_told_whole) {
  const std::string ok = said(some_request(), Mark::ok);
  EXPECT_SAYS(ok, "nginx/1.22 sent the bridge SCRIPT_FILENAME \"/srv/a.cgi\"");
  EXPECT_SAYS(ok, "PATH_INFO \"/x\" (id abc)");
  EXPECT_SAYS(ok, "/srv/a.cgi answered 200 in 1.5 ms, from a warm worker (rewind, compiled)");
  EXPECT_EQ(said(some_request(), Mark::wrong) + said(some_request(), Mark::note), "");
}

TEST(Request, that_ran_classic_says_why) {
  Followed request = some_request();
  request.ended["arm"] = "classic";
  EXPECT_SAYS(said(request, Mark::ok), "it was not warm yet");
  request.ended["program"] = "/srv/unknown";
  EXPECT_SAYS(said(request, Mark::ok), "from a classic run.");
}

TEST(Request, that_the_bridge_refuses_says_what_helps) {
  Followed request = some_request();
  request.ended["status"] = 403;
  request.ended["program"] = "";
  request.ended["why"] = "/srv/a.cgi: /opt/a.cgi is outside the roots";
  EXPECT_SAYS(said(request, Mark::wrong), "answered 403: /srv/a.cgi: /opt/a.cgi is outside");
  EXPECT_SAYS(said(request, Mark::wrong), "bridge.roots");
  request.ended["why"] = "/srv/a.cgi: is not executable (chmod +x)";
  EXPECT_SAYS(said(request, Mark::wrong), "chmod +x /srv/a.cgi");
  request.ended["status"] = 404;
  request.ended["why"] = "/srv/a.cgi: No such file or directory";
  EXPECT_SAYS(said(request, Mark::wrong), "what the web server sends as SCRIPT_FILENAME");
  for (const int status : {403, 413, 431, 500, 502, 503, 504, 418}) {
    request.ended["status"] = status;
    EXPECT_EQ(said(request, Mark::wrong).find("-> \n"), std::string::npos) << status;
  }
}

TEST(Request, that_never_reached_the_bridge_says_who_answered) {
  for (const int status : {200, 302, 403, 404, 502}) {
    const std::string wrong = said(never_reached(status), Mark::wrong);
    EXPECT_SAYS(wrong, "nginx/1.22 answered " + std::to_string(status) + " itself");
    EXPECT_EQ(wrong.find("-> \n"), wrong.npos) << status;
  }
  EXPECT_SAYS(said(never_reached(404), Mark::wrong), "/var/log/nginx/error.log");
}

TEST(Request, that_got_the_source_is_the_worst) {
  Followed request = never_reached(200);
  request.is_source = true;
  EXPECT_SAYS(said(request, Mark::wrong), "sends the text of the program");
}

TEST(Request, that_bridge_allow_refused_says_so) {
  Followed request = never_reached(502);
  request.peers_refused = 1;
  EXPECT_SAYS(said(request, Mark::wrong), "bridge.allow");
}

TEST(Request, for_the_own_page_is_well) {
  Followed request = never_reached(200);
  request.is_own_page = true;
  EXPECT_SAYS(said(request, Mark::ok), "own page");
}

TEST(Request, without_an_answer_says_why) {
  Followed request = never_reached(0);
  request.not_sent = "cannot connect to 127.0.0.1:80: Connection refused";
  EXPECT_SAYS(said(request, Mark::wrong), "Connection refused");
}

TEST(Request, that_could_not_be_followed_is_only_noted) {
  Followed request = never_reached(200);
  request.was_followed = false;
  request.why_not_followed = "Permission denied";
  EXPECT_EQ(said(request, Mark::wrong), "");
  EXPECT_SAYS(said(request, Mark::note), "is not known: Permission denied");
}

TEST(Request, whose_program_still_runs_says_so) {
  Followed request = some_request();
  request.ended = {};
  EXPECT_SAYS(said(request, Mark::note), "answered with 200, and its program still runs");
  request.patience = std::chrono::seconds(10);
  request.is_whole = false;
  EXPECT_SAYS(said(request, Mark::note), "not whole after 10 s");
  request.is_whole = true;
  request.not_sent = "no answer";
  EXPECT_SAYS(said(request, Mark::note), "not whole after 10 s");
}

TEST(Request, that_failed_in_its_program_quotes_its_last_word) {
  Followed request = some_request();
  request.ended["status"] = request.status = 500;
  request.ended["last_error"] = "no module 'x'";
  request.ended["exit_code"] = 3;
  const std::string wrong = said(request, Mark::wrong);
  EXPECT_SAYS(wrong, "its last word on standard error: no module 'x'; it exited with 3");
  EXPECT_SAYS(wrong, "cgibridge try /srv/a.cgi");
}

TEST(Request, whose_status_the_web_server_changed_says_so) {
  Followed request = some_request();
  request.status = 500;
  EXPECT_SAYS(said(request, Mark::note), "The visitor got 500 from nginx/1.22");
}

}  // namespace
}  // namespace doctor
