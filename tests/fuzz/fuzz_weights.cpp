// A folder of weights: config.json up to the first zero byte of the input, model.safetensors behind
// it. What is read has finite values only.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "sessions/weights/load_model.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

// Goes with the program.
struct Folder {
  Folder() {
    char name[] = "/tmp/hybridscope_fuzz_XXXXXX";
    const char* made = mkdtemp(name);
    hybridscope::test::expect(made != nullptr, "a folder can be made");
    path = made;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const char* name, std::string_view bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary) << bytes;
  }
  std::string path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hybridscope;
  static const Folder folder;
  const std::string_view input = test::as_text(data, size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  folder.write("config.json", input.substr(0, end));
  folder.write("model.safetensors", input.substr(std::min(end + 1, input.size())));
  const auto loaded = load_model(folder.path, std::int64_t{1} << 24);
  test::note_read(input, loaded.ok());
  if (!loaded.ok()) {
    test::expect_one_line(loaded.error().message, "");
    return 0;
  }
  for (const std::vector<float>& tensor : loaded.value().model.tensors)
    test::expect(std::ranges::all_of(tensor, [](float value) { return std::isfinite(value); }),
                 "weights are finite");
  return 0;
}
