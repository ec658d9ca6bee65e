/* The options of `history` and `top`: for the help, and for the program that does the work. */
#include "cli/history.h"

const struct option history_options[] = {
        OPTION_HEADING("Which records (list, stats, export, follow, prune)"),
        { "lang", 'l', "NAME", false, false, "of this language" },
        { "status", 0, "STATUS", false, false,
          "with this status, or 'error': all but ok; several with commas" },
        { "backend", 0, "B", false, false, "on this backend" },
        { "since", 0, "T", false, false, "from then on: 2h or 7d ago, 2026-11-15, or a full time" },
        { "until", 0, "T", false, false, "up to then" },
        { "user", 0, "NAME", false, false, "of this user, by name or number" },
        { "name", 0, "ID", false, false, "with this name of yours" },
        { "text", 0, "TEXT", false, false, "with this text anywhere in the record" },
        { "limit", 'n', "N", false, false,
          "list, stats, export: the newest N (list: 50 unless told; 0: all)" },
        OPTION_HEADING("How it is shown (list, show, stats, follow, export)"),
        { "output", 'o', "FORM", false, false, "table (default), json, jsonl, csv" },
        { "json", 0, NULL, false, false, "short for --output json" },
        { "svg", 0, NULL, false, false, "stats: a drawing instead of tables" },
        OPTION_HEADING("What goes (prune)"),
        { "older-than", 0, "T", false, false, "records that began longer ago: 30d, 12h" },
        { "keep-errors", 0, NULL, false, false, "but for those that did not end well" },
        { "max-size", 0, "SIZE", false, false,
          "and the oldest of them, until all records take no more than this" },
        { "dry-run", 0, NULL, false, false, "say what would go" },
        OPTION_HELP,
        OPTION_END,
};

const struct option top_options[] = {
        OPTION_HEADING("Options"),
        { "interval", 0, "T", false, false, "time between two looks (default 500ms)" },
        { "once", 0, NULL, false, false, "print what is there once, and end" },
        { "json", 0, NULL, false, false, "with --once: as JSON" },
        OPTION_HELP,
        OPTION_END,
};
