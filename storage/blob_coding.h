// How keyframes are coded: numbers of varying length (LEB128) in a zstd frame.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

class VarintWriter {
 public:
  void put(std::uint64_t value);
  // Zigzag: small numbers of either sign are short.
  void put_signed(std::int64_t value);
  // Always 8 bytes, little-endian: for numbers without a pattern.
  void put_word(std::uint64_t value);
  // The number of ids, then each minus the one before.
  void put_ids(std::span<const std::int32_t> ids);
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Reads numbers as long as they are valid; after the first invalid one all are 0.
class VarintReader {
 public:
  explicit VarintReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t take();
  // From 0 to below `end`.
  std::int64_t take_below(std::int64_t end);
  // From -limit to limit.
  std::int64_t take_signed(std::int64_t limit);
  std::uint64_t take_word();
  // What put_ids() wrote: ids from `least` to below `end`.
  void take_ids(std::int64_t least, std::int64_t end, std::vector<std::int32_t>& ids);
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && next_ == bytes_.size(); }

 private:
  std::int64_t left_bytes() const { return static_cast<std::int64_t>(bytes_.size() - next_); }

  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
  bool ok_ = true;
};

std::vector<std::uint8_t> pack_blob(std::span<const std::uint8_t> bytes);
// Error corrupt: not a blob of pack_blob().
Result<std::vector<std::uint8_t>> unpack_blob(std::span<const std::uint8_t> blob);
Error damaged_keyframe(const std::string& what);

}  // namespace hybridscope
