// The config.json reader, and the layout of what it accepts.
#include "core/model/model_layout.h"
#include "sessions/scenario/hf_config.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hybridscope;
  const auto model = parse_hf_config({.text = test::as_text(data, size), .file = "config.json"});
  test::note_read(test::as_text(data, size), model.ok());
  if (!model.ok()) {
    test::expect_one_line(model.error().message, "");  // names the model or the file, then the key
    return 0;
  }
  const auto layout = build_kv_cache_config(
      model.value(), {.num_speculative_tokens = 2, .kv_cache_memory_bytes = std::int64_t{1} << 36});
  if (!layout.ok()) test::expect(!layout.error().message.empty(), "an error has a message");
  return 0;
}
