// What the scheduler knows about one request (vLLM v1/request.py, the fields that scheduling
// reads).
#pragma once

#include <cstdint>
#include <span>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/caching/request_status.h"

namespace hybridscope {

struct Request {
  RequestId id;
  std::int32_t num_prompt_tokens = 0;
  std::int32_t max_tokens = 1;    // output tokens after which it ends
  std::int32_t priority = 0;      // smaller is more important
  std::int64_t arrival_time = 0;  // any increasing unit; ties are broken by id
  std::int32_t num_tokens = 0;    // known: prompt and generated, without drafts
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_draft_tokens = 0;  // length of spec_token_ids, the list for the next step
  // Asynchronous: tokens that frames in flight will return if every draft is accepted; computed
  // tokens are counted the same way.
  std::int32_t num_output_placeholders = 0;
  std::int64_t last_frame = 0;               // number of the last frame with tokens of it, from 1
  std::int32_t num_in_flight_tokens = 0;     // scheduled tokens of frames that have not returned
  std::int32_t async_tokens_to_discard = 0;  // StaleFrame::discard_by_token_count... only
  // StaleFrame::drained_by_scheduled_tokens only: tokens in flight of runs that were preempted, and
  // whether what they sampled is dropped.
  std::int32_t num_stale_output_tokens = 0;
  bool drop_stale_output = false;
  std::int32_t run = 0;                     // how often it was preempted
  std::int32_t first_valid_run = 0;         // frames of earlier runs are dropped whole
  std::int32_t shared_prefix_boundary = 0;  // of its last lookup (semantics: junction); 0: none
  bool is_prefill_chunk = false;            // the last scheduled chunk did not reach num_tokens
  RequestStatus status = RequestStatus::waiting;
  // One hash per hash block of known tokens; the code that appends tokens extends the viewed array.
  std::span<const Fingerprint> block_hashes;

  std::int32_t num_output_tokens() const { return num_tokens - num_prompt_tokens; }
};

}  // namespace hybridscope
