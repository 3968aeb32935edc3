// The config.json reader, and the layout of what it accepts.
#include "core/model/model_layout.h"
#include "sessions/scenario/hf_config.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

namespace hybridscope::test {

void fuzz_hf_config(std::string_view text) {
  const auto model = parse_hf_config({.text = text, .file = "config.json"});
  note_read(text, model.ok());
  if (!model.ok())  // it names the model or the file, then the key
    return expect_one_line(model.error().message, "");
  const auto layout = build_kv_cache_config(
      model.value(), {.num_speculative_tokens = 2, .kv_cache_memory_bytes = std::int64_t{1} << 36});
  if (!layout.ok()) expect(!layout.error().message.empty(), "an error has a message");
}

}  // namespace hybridscope::test
