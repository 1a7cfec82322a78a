// What is made unreadable before a request is recorded.
#include "journal/secrets.h"

#include <gtest/gtest.h>

#include "journal/secret_fields.h"

namespace journal {
namespace {

using Masked = Secrets::Masked;

TEST(Secrets, knows_the_names_that_say_it) {
  const Secrets secrets;
  for (const char* name :
       {"password",    "PASSWD",        "new-password", "user[pass]",  "api_key",
        "X-Api-Key",   "access_token",  "PHPSESSID",    "csrf_token",  "HTTP_AUTHORIZATION",
        "PHP_AUTH_PW", "client_secret", "pin",          "credit_card", "card_number",
        "cvv",         "cvc",           "iban",         "ssn",         "code"}) {
    EXPECT_TRUE(secrets.is_secret(name)) << name;
  }
  for (const char* name :
       {"name", "author", "message", "REMOTE_ADDR", "compass", "AUTH_TYPE", "postcode", "caliban",
        "lesson", "encoding", "REMOTE_USER", "spin", "keyboard", "HTTP_ACCEPT_ENCODING"}) {
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
  EXPECT_EQ(secrets.mask_query(query), (Masked{"password", "passwd"}));
  EXPECT_EQ(query, "name=eve&password=xxxxxxx&b;p%61sswd=xxxxx&token=");
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
            R"({"pass\u0077ord":"xxxxxx", "\u0070in": 11, "a\"b\u00e9": "c", "pin\u00": "d\u"})");
  std::string url = "/callback?code=4711&state=1&postcode=2";
  EXPECT_EQ(secrets.mask_url(url), Masked{"code"});
  EXPECT_EQ(url, "/callback?code=xxxx&state=1&postcode=2");
}

TEST(Secrets, masks_what_is_there_of_a_body_that_was_cut_anywhere) {
  const Secrets secrets;
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {"application/json", R"({"a": ["b", {"password": "hunter2\"hunter2"}], "pin": 1234})"},
      {"multipart/form-data; boundary=b",
       "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter2hunter2\r\n--b--"},
      {"application/x-www-form-urlencoded", "a=1&password=hunter2hunter2&b=2"},
      {"text/plain", "password=hunter2hunter2"}};
  for (const auto& [type, whole] : bodies) {
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
      std::string body = whole.substr(0, cut);
      secrets.mask_body(body, type);
      EXPECT_EQ(body.size(), cut);
      EXPECT_EQ(body.find("hunt"), body.npos) << type << " cut at " << cut << ": " << body;
    }
  }
}

TEST(JsonFields, takes_time_that_grows_with_the_text_alone) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"token":[)";
  for (int i = 0; i < 100'000; ++i) deep += "1,";
  const auto all = [](std::string_view) { return true; };
  EXPECT_EQ(json_fields(deep, all).size(), 100'000u);
}

}  // namespace
}  // namespace journal
