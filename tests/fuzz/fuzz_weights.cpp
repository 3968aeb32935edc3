#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/model/model_layout.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/weights/load_model.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

// A folder of weights: config.json up to the first zero byte of the input, model.safetensors behind
// it. What is read has finite values only.

namespace hybridscope::test::weights_target {
namespace {

// Goes with the program.
struct Folder {
  Folder() {
    char name[] = "/tmp/hybridscope_fuzz_XXXXXX";
    const char* made = mkdtemp(name);
    expect(made != nullptr, "a folder can be made");
    path = made;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const char* name, std::string_view bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary) << bytes;
  }
  std::string path;
};

}  // namespace
}  // namespace hybridscope::test::weights_target

namespace hybridscope::test {

void fuzz_weights(std::string_view text) {
  static const weights_target::Folder folder;
  const std::size_t end = std::min(text.find('\0'), text.size());
  folder.write("config.json", text.substr(0, end));
  folder.write("model.safetensors", text.substr(std::min(end + 1, text.size())));
  const auto loaded = load_model(folder.path, std::int64_t{1} << 24);
  note_read(text, loaded.ok());
  if (!loaded.ok()) return expect_one_line(loaded.error().message, "");
  for (const std::vector<float>& tensor : loaded.value().model.tensors)
    expect(std::ranges::all_of(tensor, [](float value) { return std::isfinite(value); }),
           "weights are finite");
}

// The config.json reader, and the layout of what it accepts.

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
