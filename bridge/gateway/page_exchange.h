// A request for the bridge's own page, on its connection.
#pragma once

#include "gateway/exchange.h"
#include "gateway/page_visit.h"

namespace gateway {

struct Counts;

// Collects the body, at most kPageBodyMax bytes (413 beyond), and answers when it is complete.
class PageExchange : public Exchange {
 public:
  // The references outlive it. page: none answers with 404.
  PageExchange(Answer& answer, fastcgi::RequestId id, PageVisit visit, const PageHandler& page,
               Counts& counts);
  ~PageExchange() override;

  void body_bytes(base::ByteView piece) override;
  void body_end() override;
  bool body_full() const override { return false; }
  bool body_complete() const override { return complete_; }
  void resume() override {}
  bool answer_is_whole() const override { return false; }
  void move_to(Answer& answer) override;
  void cancel() override { over_ = true; }

 private:
  void answer(const std::string& text);

  Answer& answer_;
  const fastcgi::RequestId id_;
  PageVisit visit_;
  const PageHandler& page_;
  Counts& counts_;
  bool complete_ = false;
  bool over_ = false;
};

}  // namespace gateway
