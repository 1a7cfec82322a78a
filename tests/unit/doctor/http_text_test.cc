#include "doctor/http_text.h"

#include <gtest/gtest.h>

namespace doctor {
namespace {

TEST(ParseUrl, tells_the_host_from_where_it_goes) {
  const auto url = parse_url("http://www.example.org:8080/cgi-bin/a.cgi?x=1#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url.value().host, "www.example.org:8080");
  EXPECT_EQ(url.value().port, 8080);
  EXPECT_EQ(url.value().target, "/cgi-bin/a.cgi?x=1");
  EXPECT_EQ(url.value().path(), "/cgi-bin/a.cgi");
  EXPECT_FALSE(url.value().by_ipv6);
}

TEST(ParseUrl, fills_in_what_may_be_left_out) {
  const auto url = parse_url("http://localhost");
  ASSERT_TRUE(url);
  EXPECT_EQ(url.value().port, 80);
  EXPECT_EQ(url.value().target, "/");
  EXPECT_EQ(parse_url("http://localhost?a=b").value().target, "/?a=b");
}

TEST(ParseUrl, knows_addresses_with_colons) {
  const auto url = parse_url("http://[::1]:81/x");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url.value().by_ipv6);
  EXPECT_EQ(url.value().port, 81);
  EXPECT_EQ(parse_url("http://[::1]/x").value().port, 80);
}

TEST(ParseUrl, refuses_what_could_say_more_than_one_request) {
  for (const std::string text :
       {"", "x", "/cgi-bin/a", "ftp://h/", "https://h/", "http://", "http:///x", "http://:80/",
        "http://h:/", "http://h:0/", "http://h:70000/", "http://h:8a/", "http://u@h/",
        "http://[::1/x", "http://h/a b", "http://h/a\r\nX: y", "http://h/\x80"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
  EXPECT_FALSE(parse_url("http://h/" + std::string(5000, 'a')));
}

TEST(RequestText, is_one_request_with_the_marker) {
  const std::string text = request_text(parse_url("http://h:81/a?b").value(), "0123");
  EXPECT_TRUE(text.starts_with("GET /a?b HTTP/1.0\r\nHost: h:81\r\n")) << text;
  EXPECT_NE(text.find("\r\nCGIBridge-Follow: 0123\r\n"), text.npos);
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST(ParseAnswer, finds_the_fields_that_matter) {
  const auto answer = parse_answer(
      "HTTP/1.1 301 Moved\r\nserver: nginx/1.22\r\nX: y\r\nLocation:  /b/\r\n\r\nbody: x\n");
  EXPECT_EQ(answer.status, 301);
  EXPECT_EQ(answer.server, "nginx/1.22");
  EXPECT_EQ(answer.location, "/b/");
  EXPECT_FALSE(answer.is_source);
}

TEST(ParseAnswer, recognises_the_text_of_a_program) {
  EXPECT_TRUE(parse_answer("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n#!/usr/bin/perl\n").is_source);
  EXPECT_TRUE(parse_answer("HTTP/1.1 200 OK\n\n#!/bin/sh").is_source);
  EXPECT_FALSE(parse_answer("HTTP/1.1 200 OK\r\nX: #!\r\n\r\nhello").is_source);
}

TEST(ParseAnswer, takes_nothing_from_what_is_cut_or_is_not_http) {
  const std::string whole = "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n#!";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const auto answer = parse_answer(whole.substr(0, cut));
    EXPECT_EQ(answer.status, cut < 12 ? 0 : 200) << cut;
    EXPECT_FALSE(answer.is_source) << cut;
  }
  EXPECT_EQ(parse_answer("SSH-2.0-OpenSSH").status, 0);
}

}  // namespace
}  // namespace doctor
