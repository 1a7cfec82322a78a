#include "gateway/page_exchange.h"

#include "base/assert.h"
#include "base/log.h"
#include "cgi/error_response.h"
#include "fastcgi/record_writer.h"
#include "gateway/gateway.h"

namespace gateway {

PageExchange::PageExchange(Answer& answer, fastcgi::RequestId id, PageVisit visit,
                           const PageHandler& page, Counts& counts)
    : answer_(answer), id_(id), visit_(std::move(visit)), page_(page), counts_(counts) {
  counts_.requests_active += 1;
  counts_.requests_total += 1;
}

PageExchange::~PageExchange() {
  counts_.requests_active -= 1;
}

void PageExchange::body_bytes(base::ByteView piece) {
  if (over_ || visit_.add_body(piece)) return;
  base::log_warn("the bridge's page: 413: a body of more than {} bytes", kPageBodyMax);
  counts_.errors += 1;
  answer(cgi::error_response(413, {}));
}

void PageExchange::body_end() {
  complete_ = true;
  if (!over_) answer(page_ ? visit_.answer(page_) : cgi::error_response(404, {}));
}

// Its answer is never whole before it is finished.
void PageExchange::move_to(Answer&) {
  BRIDGE_ASSERT(false);
}

void PageExchange::answer(const std::string& text) {
  over_ = true;
  std::string records;
  fastcgi::append_stream(records, fastcgi::RecordType::std_out, id_, text);
  answer_.out().append(records);
  answer_.finish(id_, 0);
}

}  // namespace gateway
