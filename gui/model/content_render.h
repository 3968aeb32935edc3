// What a panel shows as text for people, as JSON for programs, as Markdown for reports.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "gui/model/panel_content.h"

namespace hybridscope {

enum class ContentFormat : std::uint8_t { text, json, markdown };
inline constexpr std::array kContentFormats = {ContentFormat::text, ContentFormat::json,
                                               ContentFormat::markdown};
// "markdown": in commands. "Markdown": for people.
std::string_view content_format_name(ContentFormat format);
std::string_view content_format_title(ContentFormat format);
std::optional<ContentFormat> content_format_of(std::string_view name);

// Columns as wide as their widest cell, numbers at their right edge.
std::string content_text(const PanelDocument& document);
// {panel, title, run, step, selection, notes, text, tables: [{title, note, rows: [{HEADING:
// cell}]}], compared_with}: empty cells are null, notes and text are left out where there are none.
std::string content_json(const PanelDocument& document);
// GitHub's tables; pipes, line ends and what would be markup are escaped.
std::string content_markdown(const PanelDocument& document);
std::string render_content(const PanelDocument& document, ContentFormat format);

}  // namespace hybridscope
