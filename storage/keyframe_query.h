// Finds the keyframe to start from.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "storage/table_cursor.h"

namespace hybridscope {

class KeyframeQuery {
 public:
  // Keyframes are blobs in `column` of `table`.
  KeyframeQuery(ReadContext& context, const std::string& table, const std::string& column)
      : context_(context),
        name_(table + "." + column),
        statement_(context, fmt::format("SELECT step, {} FROM {} WHERE session = ? AND step > ? "
                                        "AND step <= ? ORDER BY step DESC LIMIT 1",
                                        column, table)) {}

  template <class Content>
  struct Found {
    std::int64_t step = 0;
    Content content;
  };
  // The last keyframe of the steps after `after` up to `step`. `decode` makes a Result of the blob.
  // Empty: there is none, or an error, which goes to the context.
  template <class Decode>
  auto last(std::int64_t after, std::int64_t step, const Decode& decode) {
    using Content = std::remove_cvref_t<decltype(decode({}).value())>;
    std::optional<Found<Content>> found;
    statement_.start({context_.session, after, step});
    if (!statement_.step()) return found;
    const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), 1));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), 1));
    const std::int64_t number = sqlite3_column_int64(statement_.get(), 0);
    auto decoded = decode(std::span(bytes, size));
    statement_.stop();
    if (decoded.ok())
      found.emplace(Found<Content>{number, std::move(decoded).value()});
    else
      context_.fail(ErrorKind::corrupt,
                    fmt::format("step {}: {}: {}", number, name_, decoded.error().message));
    return found;
  }

 private:
  ReadContext& context_;
  std::string name_;
  ReadStatement statement_;
};

}  // namespace hybridscope
