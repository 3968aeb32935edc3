// Writes a step record as rows of the session file's tables (docs/session-format.md).
#pragma once

#include <sqlite3.h>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/ids.h"
#include "core/check/finding.h"
#include "sessions/record/step_record.h"
#include "storage/keyframe.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

// A prepared INSERT whose values come from walking the field lists (sessions/record/step_fields.h).
// For one thread at a time. Throws SQLite::Exception.

class Insert {
 public:
  // The values come in the order of `columns`; each table's first column is the session's number.
  Insert(SQLite::Database& database, std::string_view table, std::int64_t session,
         const std::vector<std::string>& columns);

  // Begins a row. Then call one function per column, then run().
  Insert& row(std::int64_t first) { return integer(session_).integer(first); }
  Insert& integer(std::int64_t value) {
    *next_++ = value;
    return *this;
  }
  // Not copied: `value` must live until run().
  Insert& text(std::string_view value) { return bytes({value.data(), value.size(), true}); }
  // Not copied: `value` must live until run().
  Insert& blob(std::span<const std::uint8_t> value) {
    return bytes({value.data(), value.size(), false});
  }
  // Little-endian, four bytes per value. Not copied.
  Insert& blob(const std::vector<std::int32_t>& values) {
    return bytes({values.data(), values.size() * sizeof(std::int32_t), false});
  }
  // Ends the row; columns without a value are null. Rows of integers wait until there are
  // kRowsTogether: one statement for all costs two thirds of a statement for each, and saves most
  // when rows are appended to the end of a table.
  void run();
  // Inserts the waiting rows.
  void flush();

  // Binds a field in its column's form: requests and enums as integers, rules as slugs,
  // fingerprints as the same 64 bits.
  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (std::is_same_v<T, RequestId>)
      integer(value.value);
    else if constexpr (std::is_same_v<T, Rule>)
      text(rule_info(value).slug);
    else if constexpr (std::is_same_v<T, std::string_view>)
      text(value);
    else
      integer(static_cast<std::int64_t>(value));
  }

 private:
  static constexpr std::size_t kRowsTogether = 32;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
  struct Bytes {
    const void* data = nullptr;
    std::size_t size = 0;
    bool is_text = false;
    std::size_t column = 0;
  };

  Insert& bytes(Bytes value) {
    value.column = row_size();
    bytes_.push_back(value);
    return integer(0);  // a placeholder
  }
  // Where the values of the current row begin.
  std::int64_t* row_start() { return values_.data() + num_rows_ * width_; }
  std::size_t row_size() { return static_cast<std::size_t>(next_ - row_start()); }
  void forget_rows();
  Statement prepare(std::size_t rows) const;
  // Binds `count` of the waiting rows, from `first` on.
  void bind(sqlite3_stmt* statement, std::size_t first, std::size_t count) const;
  void bind_bytes(sqlite3_stmt* statement) const;
  void step(sqlite3_stmt* statement) const;

  sqlite3* handle_;
  std::string table_;
  std::string columns_;
  std::int64_t session_;
  std::size_t width_;                 // number of columns
  Statement one_;                     // inserts one row
  Statement many_;                    // inserts kRowsTogether rows; null until there are that many
  std::size_t num_rows_ = 0;          // waiting rows
  std::vector<std::int64_t> values_;  // [rows * width]
  std::int64_t* next_;                // in values_: where the next value goes
  std::vector<std::size_t> num_values_;  // [num_rows] columns that are not null
  std::vector<Bytes> bytes_;             // of the last row
};

class StepRows {
 public:
  // Prepares one INSERT per table. All functions throw SQLite::Exception.
  StepRows(SQLite::Database& database, std::int64_t session);
  ~StepRows();
  StepRows(const StepRows&) = delete;
  StepRows& operator=(const StepRows&) = delete;

  // `step`: the first step that names the request.
  void write_request(std::int64_t step, RequestId request, const std::string& name);
  // The rows are in the tables after the next flush(). Requires: the step is not in any table yet.
  // `finding_texts`: [findings]
  void write(const StepRecord& record, std::span<const std::string> finding_texts);
  // Writes the keyframes that are due, of what was before the step.
  void write_keyframes(std::int64_t step, const Keyframes& due);

  // Inserts all waiting rows, for the end of a transaction.
  void flush();

 private:
  struct Inserts;
  void write_schedule(const StepTrace& trace);
  void write_rows(const StepTrace& trace);
  void write_blocks(const StepRecord& record);
  void write_copies(const StepTrace& trace);
  void write_groups(const StepRecord& record);
  void write_findings(const StepRecord& record, std::span<const std::string> texts);

  std::unique_ptr<Inserts> inserts_;
  std::vector<const RowTrace*> row_of_;  // [scheduled] of the step being written
};

}  // namespace hybridscope
