// What a safetensors file may be, and how each bad one is refused.
#include "sessions/weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "tests/support/temporary_folder.h"

namespace hybridscope::safetensors_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file: the header's length in eight bytes, the header, the data.
std::string file_of(const std::string& header, const std::string& data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  return text + header + data;
}

class SafetensorsFile : public testing::Test {
 protected:
  void write(const std::string& header, const std::string& data) {
    folder_.write("model.safetensors", file_of(header, data));
  }
  // Of opening, or of the values of tensor "w".
  std::string error() const {
    const auto opened = Safetensors::open(folder_.path());
    if (!opened) return opened.error().message;
    const StoredTensor* tensor = opened.value().find("w");
    if (tensor == nullptr) return "no tensor w";
    const auto values = tensor_values("w", *tensor);
    return values ? "none" : values.error().message;
  }
  std::vector<float> values() const {
    const auto opened = Safetensors::open(folder_.path());
    return tensor_values("w", *opened.value().find("w")).value();
  }

  test::TemporaryFolder folder_;
};

std::string bytes_of_floats(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int i = 0; i < 4; ++i) text += static_cast<char>((bits >> (8 * i)) & 0xFF);
  }
  return text;
}

TEST_F(SafetensorsFile, Float32ValuesAreTakenAsTheyAre) {
  write(R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
        bytes_of_floats({1.5F, -0x1p-140F}));
  EXPECT_THAT(values(), ElementsAre(1.5F, -0x1p-140F));
}

// bfloat16 is the upper half of a float32.
TEST_F(SafetensorsFile, Bfloat16ValuesAreWidened) {
  write(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})",
        std::string("\xC0\x3F\x00\xC1", 4));
  EXPECT_THAT(values(), ElementsAre(1.5F, -8.0F));
}

// 0x3E00 = 1.5, 0x8001 = -2^-24 (denormal), 0x7BFF = 65504.
TEST_F(SafetensorsFile, Float16ValuesAreWidened) {
  write(R"({"w":{"dtype":"F16","shape":[3],"data_offsets":[0,6]}})",
        std::string("\x00\x3E\x01\x80\xFF\x7B", 6));
  EXPECT_THAT(values(), ElementsAre(1.5F, -0x1p-24F, 65504.0F));
}

TEST_F(SafetensorsFile, ATruncatedFileIsRefused) {
  folder_.write("model.safetensors", "abc");
  EXPECT_THAT(error(), HasSubstr("model.safetensors: has 3 bytes"));
  folder_.write("model.safetensors", std::string("\x40\0\0\0\0\0\0\0{}", 10));
  EXPECT_THAT(error(), HasSubstr("its header has 64 bytes, expected at most the 2"));
  write(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": data_offsets [0,8], expected ascending offsets "
                                 "into the 4 bytes behind the header"));
}

TEST_F(SafetensorsFile, AnEmptyOrMissingFileIsRefused) {
  EXPECT_THAT(error(), HasSubstr("model.safetensors: cannot be opened"));
  folder_.write("model.safetensors", "");
  EXPECT_THAT(error(), HasSubstr("model.safetensors: is empty"));
}

TEST_F(SafetensorsFile, BytesThatDoNotFitTheShapeAreRefused) {
  write(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": 8 bytes for shape [3] of dtype F32"));
  write(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
        "12345678");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\""));
}

TEST_F(SafetensorsFile, GapsOverlapsAndRestsAreRefused) {
  write(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
        R"("x":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
        "123");
  EXPECT_THAT(error(), HasSubstr("tensor \"x\" begins at byte 1 of the data, expected 2"));
  write(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "123");
  EXPECT_THAT(error(), HasSubstr("1 bytes behind the last tensor"));
}

TEST_F(SafetensorsFile, AnotherDtypeIsRefusedWhenItIsUsed) {
  write(R"({"w":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", "1234");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": dtype I32, expected F32, BF16 or F16"));
  write(R"({"w":{"dtype":"F13","shape":[1],"data_offsets":[0,4]}})", "1234");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": unknown dtype \"F13\""));
}

TEST_F(SafetensorsFile, NanAndInfinityAreRefused) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  write(header, bytes_of_floats({1.0F, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": element 1 is nan, expected finite values"));
  write(header, bytes_of_floats({-std::numeric_limits<float>::infinity(), 1.0F}));
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": element 0 is -inf"));
}

class ShardedFile : public SafetensorsFile {
 protected:
  void SetUp() override {
    folder_.write("a.safetensors",
                  file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                          bytes_of_floats({3.0F})));
    folder_.write("b.safetensors",
                  file_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                          bytes_of_floats({4.0F})));
  }
  void write_index(const std::string& map) {
    folder_.write("model.safetensors.index.json", R"({"weight_map":)" + map + "}");
  }
};

TEST_F(ShardedFile, TensorsComeFromTheFilesThatTheIndexNames) {
  write_index(R"({"w":"a.safetensors","x":"b.safetensors"})");
  EXPECT_THAT(values(), ElementsAre(3.0F));
}

TEST_F(ShardedFile, ATensorThatIsNotWhereTheIndexSaysIsNamed) {
  write_index(R"({"w":"b.safetensors","x":"a.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\" is missing, expected in "));
  write_index(R"({"w":"a.safetensors","y":"b.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("tensor \"y\" is missing, expected in "));
}

TEST_F(ShardedFile, AFileOfAnotherFolderIsRefused) {
  write_index(R"({"w":"../a.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("/weight_map/w: found \"../a.safetensors\", expected the name of "
                                 "a file in the same folder"));
}

TEST_F(ShardedFile, ANameInTwoFilesIsRefused) {
  folder_.write("b.safetensors", file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                         R"("x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                         bytes_of_floats({3.0F, 4.0F})));
  write_index(R"({"w":"a.safetensors","x":"b.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("tensor \"w\": is in "));
}

}  // namespace
}  // namespace hybridscope::safetensors_test
