#include "storage/blob_coding.h"

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace hybridscope {
namespace {

constexpr int kZstdLevel = 1;
constexpr std::size_t kMaxBlobBytes = std::size_t{1} << 30;  // when unpacked
constexpr std::int64_t kMaxChange = std::int64_t{1} << 33;
constexpr int kWordBits = 64;

}  // namespace

void VarintWriter::put(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
  bytes_.push_back(static_cast<std::uint8_t>(value));
}

void VarintWriter::put_signed(std::int64_t value) {
  put(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}

void VarintWriter::put_word(std::uint64_t value) {
  for (int shift = 0; shift < kWordBits; shift += 8)
    bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
}

void VarintWriter::put_ids(std::span<const std::int32_t> ids) {
  put(ids.size());
  std::int64_t before = 0;
  for (const std::int32_t id : ids) put_signed(id - std::exchange(before, id));
}

std::uint64_t VarintReader::take() {
  std::uint64_t value = 0;
  for (int shift = 0; ok_ && shift < kWordBits; shift += 7) {
    if (next_ == bytes_.size()) break;
    const std::uint8_t byte = bytes_[next_++];
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::int64_t VarintReader::take_below(std::int64_t end) {
  const std::uint64_t value = take();
  if (ok_ && value < static_cast<std::uint64_t>(std::max<std::int64_t>(end, 0)))
    return static_cast<std::int64_t>(value);
  ok_ = false;
  return 0;
}

std::int64_t VarintReader::take_signed(std::int64_t limit) {
  const std::uint64_t folded = take();
  const auto value =
      static_cast<std::int64_t>(folded >> 1) ^ -static_cast<std::int64_t>(folded & 1);
  if (value >= -limit && value <= limit) return value;
  ok_ = false;
  return 0;
}

std::uint64_t VarintReader::take_word() {
  ok_ = ok_ && left_bytes() >= kWordBits / 8;
  if (!ok_) return 0;
  std::uint64_t value = 0;
  for (int shift = 0; shift < kWordBits; shift += 8)
    value |= std::uint64_t{bytes_[next_++]} << shift;
  return value;
}

void VarintReader::take_ids(std::int64_t least, std::int64_t end, std::vector<std::int32_t>& ids) {
  ids.clear();
  std::int64_t before = 0;
  // Each id takes at least one byte.
  for (std::int64_t left = take_below(left_bytes() + 1); ok_ && left > 0; --left) {
    before += take_signed(kMaxChange);
    ok_ = ok_ && before >= least && before < end;
    ids.push_back(static_cast<std::int32_t>(before));
  }
}

std::vector<std::uint8_t> pack_blob(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> blob(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(blob.data(), blob.size(), bytes.data(), bytes.size(), kZstdLevel);
  HS_EXPECT(ZSTD_isError(size) == 0);
  blob.resize(size);
  return blob;
}

Result<std::vector<std::uint8_t>> unpack_blob(std::span<const std::uint8_t> blob) {
  const unsigned long long size = ZSTD_getFrameContentSize(blob.data(), blob.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxBlobBytes)
    return damaged_keyframe("no zstd frame of a known size");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  if (ZSTD_decompress(bytes.data(), bytes.size(), blob.data(), blob.size()) != bytes.size())
    return damaged_keyframe("zstd cannot unpack it");
  return bytes;
}

Error damaged_keyframe(const std::string& what) {
  return Error{ErrorKind::corrupt, "the keyframe is damaged: " + what};
}

}  // namespace hybridscope
