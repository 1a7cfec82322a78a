// What is made unreadable before a request is recorded.
#include "journal/secrets.h"

#include <gtest/gtest.h>

#include "journal/json_fields.h"

namespace journal {
namespace {

using Masked = Secrets::Masked;

TEST(Secrets, knows_the_names_that_say_it) {
  const Secrets secrets;
  for (const char* name :
       {"password",    "PASSWD",        "new-password", "user[pass]",  "api_key",
        "X-Api-Key",   "access_token",  "PHPSESSID",    "csrf_token",  "HTTP_AUTHORIZATION",
        "PHP_AUTH_PW", "client_secret", "pin",          "credit_card", "card_number",
        "cvv",         "cvc",           "iban",         "ssn",         "code",
        "pass word",   "user_pass",     "newPin",       "pass1",       "user.password",
        "a[key][]",    "HTTP_X_KEY",    "api.key",      "PASSWORT"}) {
    EXPECT_TRUE(secrets.is_secret(name)) << name;
  }
  for (const char* name :
       {"name", "author", "message", "REMOTE_ADDR", "compass", "AUTH_TYPE", "postcode", "caliban",
        "lesson", "encoding", "REMOTE_USER", "spin", "keyboard", "HTTP_ACCEPT_ENCODING", "zip_code",
        "pinned", "HTTP_IF_NONE_MATCH", "compassPoint", ""}) {
    EXPECT_FALSE(secrets.is_secret(name)) << name;
  }
}

TEST(Secrets, takes_more_names) {
  const Secrets secrets({"customer-number"});
  EXPECT_TRUE(secrets.is_secret("Customer_Number"));
  EXPECT_TRUE(secrets.is_secret("HTTP_CUSTOMER_NUMBER"));
  EXPECT_FALSE(secrets.is_secret("number"));
}

TEST(Secrets, masks_values_of_a_query_and_keeps_their_length) {
  const Secrets secrets;
  std::string query = "name=eve&password=hunter2&b;p%61sswd=a%20b&token=";
  EXPECT_EQ(secrets.mask_text(query), (Masked{"password", "passwd"}));
  EXPECT_EQ(query, "name=eve&password=xxxxxxx&b;p%61sswd=xxxxx&token=");
}

// What each text looks like when it is masked.
void expect_masked(const std::vector<std::pair<std::string, std::string>>& texts) {
  const Secrets secrets;
  for (const auto& [text, wanted] : texts) {
    std::string masked = text;
    secrets.mask_text(masked);
    EXPECT_EQ(masked, wanted);
    secrets.mask_text(masked);
    EXPECT_EQ(masked, wanted) << "masked a second time";
  }
}

TEST(Secrets, knows_names_however_they_are_encoded) {
  expect_masked({{"a=1&pass%77ord=ab", "a=1&pass%77ord=xx"},
                 {"a=1&pass+word=ab", "a=1&pass+word=xx"},
                 {"p%2561ss=ab", "p%2561ss=xx"},
                 {"pass%ZZ%77ord=ab&b=1", "pass%ZZ%77ord=xx&b=1"},
                 {"%u0070in=12", "%u0070in=xx"},
                 {"user%5Bpass%5D%5B%5D=ab", "user%5Bpass%5D%5B%5D=xx"}});
}

TEST(Secrets, masks_what_is_inside_of_another_value) {
  expect_masked({{"next=/x?password=ab&b=1", "next=/x?password=xx&b=1"},
                 {"next=/x%3Fpassword%3Dab%26b%3D1&c=2", "next=/x%3Fpassword%3Dxxxxxxxxxx&c=2"},
                 {"next=/x%253Fpassword%253Dab", "next=/x%253Fpassword%253Dxx"},
                 {"data=%7B%22pin%22%3A%22a%2Cb%22%7D", "data=%7B%22pin%22%3A%22xxxxx%22%7D"},
                 {"data={\"token\": \"a\\\"b\", \"c\": 1}", "data={\"token\": \"xxxx\", \"c\": 1}"},
                 {"https://h/a?b=1#access_token=ab", "https://h/a?b=1#access_token=xx"},
                 {"/a;jsessionid=ab?b=1", "/a;jsessionid=xxxxxx"}});
}

TEST(Secrets, ends_a_value_at_a_semicolon_only_before_another_pair) {
  expect_masked({{"a=1;password=ab;c=2", "a=1;password=xx;c=2"},
                 {"password=ab;cd&e=1", "password=xxxxx&e=1"}});
}

TEST(Secrets, masks_user_and_password_of_urls) {
  expect_masked({{"http://a:bc@h:80/x", "http://xxxx@h:80/x"},
                 {"u=http%3A%2F%2Fa%3Abc%40h", "u=http%3A%2F%2Fxxxxxx%40h"},
                 {"//bc@h/x", "//xx@h/x"},
                 {"http://a:b/c?d@h/x", "http://xxxxxxx@h/x"},
                 {"http://a:bc", "http://xxxx"}});
}

TEST(Secrets, leaves_alone_what_is_no_secret) {
  for (const std::string& text :
       {std::string("https://token.example.org:8443/medium/@user?mail=a@b.c"),
        std::string("token.example.org:8443"), std::string("http://[::1]:80/a"),
        std::string("text/html,application/xhtml+xml;q=0.9"), std::string("Sat, 1 Jan 00:00:00"),
        std::string("/secret/token/list?a=1"), std::string("postcode=12&author=b")}) {
    std::string masked = text;
    EXPECT_EQ(Secrets().mask_text(masked), Masked{});
    EXPECT_EQ(masked, text);
  }
}

TEST(Secrets, masks_cookies_but_for_their_names) {
  const Secrets secrets;
  const std::vector<std::pair<std::string, std::string>> cookies = {
      {"hunter2; a=b", "xxxxxxx; a=x"},
      {"a=\"x;hunter2\"; b=c", "a=xxxxxxxxxxx; b=x"},
      {"a=\"x;hunter2=1", "a=xxxxxxxxxxxx"},
      {"a=\"x\\\";hunter2\"", "a=xxxx;xxxxxxxx"},
      {"a=x,hunter2=y", "a=xxxxxxxxxxx"},
      {"=hunter2; hun ter=2;;", "xxxxxxxx; xxxxxxxxx;;"},
      {"hunter2", "xxxxxxx"}};
  for (const auto& [cookie, masked] : cookies) {
    Params params{{"HTTP_COOKIE", cookie}};
    EXPECT_EQ(secrets.mask_params(params), Masked{"HTTP_COOKIE"});
    EXPECT_EQ(params[0].second, masked);
  }
}

TEST(Secrets, keeps_of_an_authorization_only_a_scheme_that_is_known) {
  const Secrets secrets;
  Params params{{"HTTP_AUTHORIZATION", "digest username=\"a\""},
                {"HTTP_AUTHORIZATION", "hunter2 is it"}};
  secrets.mask_params(params);
  EXPECT_EQ(params[0].second, "digest xxxxxxxxxxxx");
  EXPECT_EQ(params[1].second, "xxxxxxxxxxxxx");
}

TEST(Secrets, masks_params_wherever_a_secret_stands_in_them) {
  const Secrets secrets;
  Params params{{"REQUEST_METHOD", "POST"},
                {"QUERY_STRING", "a=1&token=abc"},
                {"REQUEST_URI", "/x.cgi?a=1&token=abc"},
                {"HTTP_REFERER", "https://h/?sid=42"},
                {"HTTP_AUTHORIZATION", "Basic dXNlcjpwYXNz"},
                {"REDIRECT_HTTP_AUTHORIZATION", "secret"},
                {"HTTP_COOKIE", "lang=de; id=4711"},
                {"HTTP_X_AUTH_TOKEN", "t"}};
  const Masked masked = secrets.mask_params(params);
  EXPECT_EQ(params[1].second, "a=1&token=xxx");
  EXPECT_EQ(params[2].second, "/x.cgi?a=1&token=xxx");
  EXPECT_EQ(params[3].second, "https://h/?sid=xx");
  EXPECT_EQ(params[4].second, "Basic xxxxxxxxxxxx");
  EXPECT_EQ(params[5].second, "xxxxxx");
  EXPECT_EQ(params[6].second, "lang=xx; id=xxxx");
  EXPECT_EQ(params[7].second, "x");
  EXPECT_EQ(masked.size(), 7u);
}

TEST(Secrets, masks_the_fields_of_a_form) {
  const Secrets secrets;
  std::string body = "user=eve&password=hunter2";
  EXPECT_EQ(secrets.mask_body(body, "application/x-www-form-urlencoded"), Masked{"password"});
  EXPECT_EQ(body, "user=eve&password=xxxxxxx");
}

TEST(Secrets, masks_the_parts_of_a_form_with_parts) {
  const Secrets secrets;
  std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\neve\r\n"
      "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhun\r\nter\r\n--b--\r\n";
  EXPECT_EQ(secrets.mask_body(body, "multipart/form-data; boundary=\"b\""), Masked{"password"});
  EXPECT_NE(body.find("\r\n\r\neve\r\n--b"), body.npos);
  EXPECT_NE(body.find("\r\n\r\nxxxxxxxx\r\n--b--"), body.npos);
}

// A part's head, and whether its content is masked.
TEST(Secrets, masks_a_part_unless_its_name_is_clear_and_no_secret) {
  const Secrets secrets;
  const std::vector<std::pair<std::string, bool>> heads = {
      {"Content-Disposition: form-data; name=\"user\"; filename=\"a;name=password\"", false},
      {"content-disposition:form-data;NAME = user", false},
      {"Content-Disposition: form-data; filename=\"a\"; NAME = \"password\"", true},
      {"Content-Disposition: form-data;\r\n name=\"password\"", true},
      {"Content-Disposition: form-data; name=\"pass\\word\"", true},
      {"Content-Disposition: form-data; name=\"pass%77ord\"", true},
      {"Content-Disposition: form-data; name*=utf-8''pass%77ord", true},
      {"Content-Disposition: form-data; name*0=pass; name*1=word", true},
      {"Content-Disposition: form-data; name=user; name=password", true},
      {"Content-Disposition: form-data; name=user\r\nContent-Disposition: form-data; name=pin",
       true},
      {"Content-Disposition: form-data", true},
      {"Content-Type: text/plain", true},
      {"X-Nothing", true}};
  for (const auto& [head, is_masked] : heads) {
    for (const char* type :
         {"multipart/form-data; boundary=X", "Multipart/Form-Data; Boundary=\"X\"",
          "multipart/form-data; charset=utf-8; boundary=Y", "text/plain", ""}) {
      if (head.find("isposition") == head.npos && !std::string(type).starts_with('m')) continue;
      std::string body = "--X\r\n" + head + "\r\n\r\nhunter2\r\n--X--\r\n";
      secrets.mask_body(body, type);
      EXPECT_EQ(body.find("hunter2") == body.npos, is_masked) << head << ", type " << type;
      EXPECT_TRUE(body.ends_with("\r\n--X--\r\n")) << body;
    }
  }
}

TEST(Secrets, masks_what_is_beside_and_inside_of_the_parts) {
  const Secrets secrets;
  const std::string head = "Content-Disposition: form-data; name=\"user\"\r\n";
  const std::vector<std::string> bodies = {
      "hunter2\r\n--X\r\n" + head + "\r\na\r\n--X--\r\n",
      "--X\r\n" + head + "\r\na\r\n--X--\r\nhunter2",
      "--X\r\n" + head + "\r\n{\"pin\": [\"hunter2\"]}\r\n--X--\r\n",
      "--X\r\n" + head + "\r\npassword=hunter2\r\n--X--\r\n",
      "--X\n" + head + "\nb\n--X\n\nhunter2\n--X--\n",
      "--X\r\nContent-Disposition: form-data; "
      "name=\"pin\"\r\n\r\na\r\n--XY\r\nhunter2\r\n--X--\r\n",
      "--X\r\n" + head + "Content-Type: multipart/mixed; boundary=Y\r\n\r\n--Y\r\n\r\n" +
          "hunter2\r\n--Y--\r\n--X--\r\n"};
  for (const std::string& body : bodies) {
    std::string masked = body;
    secrets.mask_body(masked, "multipart/form-data; boundary=X");
    EXPECT_EQ(masked.find("hunter2"), masked.npos) << masked;
    EXPECT_EQ(masked.size(), body.size());
  }
}

TEST(Secrets, knows_json_and_forms_whatever_their_type_says) {
  const Secrets secrets;
  const std::vector<std::string> bodies = {R"({"password":"hunter2"})",
                                           "\xef\xbb\xbf{\"password\":\"hunter2\"}",
                                           R"([{"a":1}, {"pin":{"v":["hunter2"]}}])",
                                           "{\"x\":1}\n{\"password\":\"hunter2\"}\n",
                                           R"({"x":1,,"password":"hunter2")",
                                           R"({"x":"a password: "hunter2"})",
                                           "{password: 'hunter2'}",
                                           R"({"url":"http:\/\/h\/?a=1\u0026pin=hunter2"})",
                                           R"({"json":"{\"token\":\"hunter2\"}"})",
                                           "user=a&password=hunter2",
                                           "user=a\r\npassword=hunter2\r\n",
                                           "user: a\npassword: hunter2\n",
                                           "x={\"password\":\"a\\\"hunter2\"}"};
  for (const std::string& body : bodies) {
    for (const char* type : {"", "text/plain", "APPLICATION/JSON", "application/json", "a/b",
                             "application/x-www-form-urlencoded"}) {
      std::string masked = body;
      secrets.mask_body(masked, type);
      EXPECT_EQ(masked.find("hunter2"), masked.npos) << type << ": " << masked;
      EXPECT_EQ(masked.size(), body.size());
    }
  }
}

TEST(Secrets, leaves_json_valid) {
  const Secrets secrets;
  std::string body =
      R"({"url":"/x?token=a\"b","pin":12,"key":true,"auth":[null,"a"],"text":"pin: 12","n":3})";
  secrets.mask_body(body, "");
  EXPECT_EQ(
      body,
      R"({"url":"/x?token=xxxx","pin":11,"key":true,"auth":[null,"x"],"text":"pin: 11","n":3})");
}

TEST(Secrets, masks_the_fields_of_json_in_any_depth) {
  const Secrets secrets;
  std::string body =
      R"({"user": "eve", "auth": {"n": [1, "two"], "x": "y\"z"}, "pin": -12.5, "b": 1})";
  secrets.mask_body(body, "application/json; charset=utf-8");
  EXPECT_EQ(body,
            R"({"user": "eve", "auth": {"n": [1, "xxx"], "x": "xxxx"}, "pin": 11111, "b": 1})");
}

TEST(Secrets, masks_json_whose_names_are_escaped) {
  const Secrets secrets;
  std::string body =
      R"({"pass\u0077ord":"SECRET", "\u0070in": 12, "a\"b\u00e9": "c", "pin\u00": "d\u"})";
  secrets.mask_body(body, "application/json");
  EXPECT_EQ(body,
            R"({"pass\u0077ord":"xxxxxx", "\u0070in": 11, "a\"b\u00e9": "c", "pin\u00": "xxx"})");
  std::string url = "/callback?code=4711&state=1&postcode=2";
  EXPECT_EQ(secrets.mask_text(url), Masked{"code"});
  EXPECT_EQ(url, "/callback?code=xxxx&state=1&postcode=2");
}

TEST(Secrets, masks_what_is_there_of_a_body_that_was_cut_anywhere) {
  const Secrets secrets;
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {"application/json", R"({"a": ["b", {"password": "hunter2\"hunter2"}], "pin": 1234})"},
      {"multipart/form-data; boundary=b",
       "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter2hunter2\r\n--b--"},
      {"application/x-www-form-urlencoded", "a=1&password=hunter2hunter2&b=2"},
      {"text/plain", "password=hunter2hunter2"},
      {"", "{\"a\": \"b\", \"password\": \"hunter2hunter2\"}"},
      {"", "a=http://b:hunter2hunter2@c/"},
      {"", "a=/b%3Fpassword%3Dhunter2hunter2"}};
  for (const auto& [type, whole] : bodies) {
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
      std::string body = whole.substr(0, cut);
      secrets.mask_body(body, type);
      EXPECT_EQ(body.size(), cut);
      EXPECT_EQ(body.find("hunt"), body.npos) << type << " cut at " << cut << ": " << body;
    }
  }
}

TEST(Secrets, takes_time_that_grows_with_the_text_alone) {
  const Secrets secrets;
  for (const char* piece : {"%25", ";", "; a", "a:\"", "//a:b/", "=", "pin=", "\" ", "\\",
                            "--X\r\n", "{\"pin\":", "%2525"}) {
    for (const char* type : {"", "application/json", "multipart/form-data; boundary=X"}) {
      std::string body;
      while (body.size() < (64 << 10)) body += piece;
      secrets.mask_body(body, type);
    }
  }
}

TEST(JsonFields, takes_time_that_grows_with_the_text_alone) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"token":[)";
  for (int i = 1; i < 100'000; ++i) deep += "1,";
  deep += "1";
  for (int i = 0; i < 100'000; ++i) deep += "]}";
  const auto all = [](std::string_view) { return true; };
  EXPECT_EQ(json_fields(deep, all).size(), 100'000u);
}

}  // namespace
}  // namespace journal
