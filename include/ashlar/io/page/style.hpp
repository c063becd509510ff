// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the look of the HTML pages: the style sheet, the hatching of partial tensors, and the
// escaping of text. A page contains no script and loads no other file.

#include <string>
#include <string_view>

namespace ashlar::io::page {

/// Returns `text` with all characters that have a meaning in HTML replaced by entities.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (char const c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\'': out += "&#39;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

inline constexpr char const* style = R"css(
:root { --ink:#1d2733; --soft:#5c6b7a; --line:#d9dfe5; --work:#7f8fa3; --act:#e39a3b;
  --grad:#9a6bc2; --par:#3f9e7a; }
body { font:14px/1.45 system-ui,"DejaVu Sans",sans-serif; color:var(--ink); background:#f5f7f9;
  margin:0 auto; padding:24px; max-width:1180px; }
h1 { font-size:22px; margin:0 0 2px; } h2 { font-size:16px; margin:28px 0 8px; }
.sub { color:var(--soft); margin:0 0 14px; }
.card { background:#fff; border:1px solid var(--line); border-radius:8px; padding:14px 16px; }
.tiles { display:flex; gap:12px; flex-wrap:wrap; margin-bottom:12px; }
.tile { flex:1 1 150px; } .tile b { display:block; font-size:20px; font-weight:600; }
.tile span, .dim { color:var(--soft); font-size:12px; }
.bar { display:flex; height:12px; border-radius:3px; overflow:hidden; background:#eef1f4; }
.bar i { display:block; } .wk { background:var(--work); } .ac { background:var(--act); }
.gr { background:var(--grad); } .pa { background:var(--par); }
.key { display:flex; gap:18px; flex-wrap:wrap; margin-top:8px; font-size:12px; }
.key i { display:inline-block; width:12px; height:12px; border-radius:2px; margin-right:5px;
  vertical-align:-1px; }
.two { display:flex; gap:28px; flex-wrap:wrap; align-items:flex-start; }
svg text { font:11px system-ui,"DejaVu Sans",sans-serif; fill:var(--ink); }
text.m { text-anchor:middle; } text.r { text-anchor:end; } svg text.l { fill:#fff; }
.two > p { max-width:470px; margin:24px 0; }
.f { fill:none; stroke:#33404d; stroke-width:.8; } .t { display:block; }
.fold { border-left:4px solid #b9c4cf; padding-left:10px; margin:10px 0; }
.fold > p { margin:0 0 4px; font-weight:600; }
.e { display:grid; grid-template-columns:150px 300px 1fr 190px; gap:14px; align-items:start;
  background:#fff; border:1px solid var(--line); border-radius:8px; padding:9px 12px;
  margin:6px 0; }
.e h3 { margin:0; font-size:14px; white-space:pre; }
.boxes { display:flex; gap:10px; flex-wrap:wrap; align-items:flex-start; }
.box { font-size:11px; max-width:128px; }
.box code, .moves code { font:11px ui-monospace,"DejaVu Sans Mono",monospace; }
.box code { color:var(--soft); display:block; overflow-wrap:anywhere; }
.arrow { align-self:center; color:var(--soft); padding-top:6px; }
.num { font-size:12px; text-align:right; } .num b { font-weight:600; }
.moves { margin:0 0 0 14px; font-size:12px; border-collapse:collapse; }
.moves td { padding:1px 14px 1px 0; white-space:nowrap; }
.moves td.n { text-align:right; min-width:76px; } .moves td.w { width:12px; padding-right:6px;
  color:var(--soft); } .moves td.p { min-width:104px; } .moves td.q { min-width:110px; }
.moves td.c { min-width:230px; }
.dot { display:inline-block; width:9px; height:9px; border-radius:50%; margin-right:6px; }
.note { color:#8a4b00; }
table.front { border-collapse:collapse; } .front td, .front th { padding:2px 16px 2px 0;
  text-align:right; font-weight:400; } .front th { color:var(--soft); font-size:12px; }
.id { background:#eef1f4; }
rect.fw { fill:#9db8d3; } rect.bw { fill:#c9b3dd; } rect.wt { fill:#e3c795; }
rect.sy { fill:#3f9e7a; } line.tr { stroke:#b4553f; stroke-width:1.6; }
line.sp { stroke:#6a5acd; }
rect.fw, rect.bw, rect.wt { stroke:#fff; stroke-width:.8; } rect.c2 { stroke:#5b6b7b; }
.fk, .bk, .gk, .sk { display:inline-block; width:12px; height:12px; border-radius:2px;
  vertical-align:-1px; } .fk { background:#9db8d3; } .bk { background:#c9b3dd; }
.gk { background:#e3c795; } .sk { background:#3f9e7a; }
@media print { body { background:#fff; } .e { break-inside:avoid; } }
)css";

/// The definition of the SVG pattern that hatches partial tensors. A page must contain this
/// definition once, before the first drawing.
inline constexpr char const* hatch =
    "<svg width='0' height='0' style='position:absolute' aria-hidden='true'><defs>"
    "<pattern id='hatch' width='6' height='6' patternUnits='userSpaceOnUse' "
    "patternTransform='rotate(45)'><rect width='2.2' height='6' fill='#fff' fill-opacity='.75'/>"
    "</pattern></defs></svg>";

}  // namespace ashlar::io::page
