import CipherData
import Foundation
package import ObjectModel
package import SQLCipherStore

/// The contents of a self-contained HTML page about a store.
package struct StoreReport {
  package var title: String
  package var information: StoreFileInformation
  package var model: ManagedObjectModel
  package var usage: [StoreUsage]
  package var largeValues: (count: Int, bytes: Int)
  /// The declared indexes that no query uses; `nil` if no queries were examined.
  package var unusedIndexes: [IndexUse.Index]?
  package var unknownTemplates: [String]
  /// Sample objects of each entity as tables: the columns, then the rows.
  package var samples: [(entityName: String, columns: [String], rows: [[String]])]
  /// The state of synchronization; `nil` if the store is not synchronized.
  package var synchronization: SyncSummary?

  package init(
    title: String, information: StoreFileInformation, model: ManagedObjectModel, usage: [StoreUsage],
    largeValues: (count: Int, bytes: Int), unusedIndexes: [IndexUse.Index]?, unknownTemplates: [String] = [],
    samples: [(entityName: String, columns: [String], rows: [[String]])] = []
  ) {
    (self.title, self.information, self.model, self.usage) = (title, information, model, usage)
    (self.largeValues, self.unusedIndexes, self.unknownTemplates) = (largeValues, unusedIndexes, unknownTemplates)
    self.samples = samples
  }

  /// The page.
  package func html() -> String {
    let counts = Dictionary(information.entityCounts.map { ($0.entityName, $0.count) }, uniquingKeysWith: { first, _ in first })
    var notes: [String: String] = [:]
    for entity in model.entities where !entity.isAbstract {
      let count = counts[entity.name] ?? 0
      notes[entity.name] = "\(Self.grouped(count)) object\(count == 1 ? "" : "s")"
    }
    return """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <title>\(escaped(title))</title>
      <style>
      \(Self.style)
      </style></head><body><main>
      <header><h1>\(escaped(title))</h1><p class="soft">\(escaped(summary))</p></header>
      \(tiles)
      <section><h2>Model</h2><div class="scroll">\(ModelDrawing.svg(model, notes: notes))</div></section>
      \(bars("Objects by entity", information.entityCounts.filter { $0.count > 0 }.sorted { $1.count < $0.count }.map { Bar($0.entityName, "", $0.count, Self.grouped($0.count)) }))
      \(bars("Bytes by table and index", usage.map { Bar($0.name, Self.meaning($0), $0.bytes, InfoText.bytes($0.bytes)) }))
      \(bars("Bytes by file", files))
      \(bars("Log", log, about: logSummary))
      \(indexes)
      \(keys)
      \(synchronization.map(Self.section) ?? "")
      \(sampleTables)
      <footer class="soft">Written by cipherdata \(Tool.version). \(samples.isEmpty ? "The page contains no values of objects." : "The page contains values of objects, unencrypted.")</footer>
      </main></body></html>

      """
  }

  private struct Bar {
    var name: String
    var note: String
    var value: Int
    var text: String
    init(_ name: String, _ note: String, _ value: Int, _ text: String) {
      (self.name, self.note, self.value, self.text) = (name, note, value, text)
    }
  }

  private func escaped(_ text: String) -> String { Self.escaped(text) }
  static func escaped(_ text: String) -> String { ModelDrawing.escaped(text) }

  private var summary: String {
    let versions = information.modelVersionIdentifiers.sorted().joined(separator: ", ")
    return
      "\(information.encryption) · SQLCipher \(information.sqlcipherVersion) · model \(versions.isEmpty ? "without a version" : versions) · \(information.storeIdentifier)"
  }

  private var tiles: String {
    let objects = information.entityCounts.reduce(0) { $0 + $1.count }
    let free = information.pageCount == 0 ? 0 : information.freePageCount * 100 / information.pageCount
    let all = [
      (Self.grouped(objects), "objects"), (InfoText.bytes(information.fileSize), "database, \(free) % of it unused"),
      (InfoText.bytes(information.logSize), "in the log"),
      (InfoText.bytes(largeValues.bytes), "in \(Self.grouped(largeValues.count)) large values"),
      ("\(information.keySlots.count)", information.keySlots.count == 1 ? "key opens it" : "keys open it"),
    ]
    return "<div class=\"tiles\">"
      + all.map { "<div class=\"tile\"><b>\(escaped($0.0))</b><span class=\"soft\">\(escaped($0.1))</span></div>" }.joined() + "</div>"
  }

  private var files: [Bar] {
    let pageSize = information.encryption.pageSize
    let free = information.freePageCount * pageSize
    return [
      Bar("Database, in use", "", max(0, information.fileSize - free), InfoText.bytes(max(0, information.fileSize - free))),
      Bar("Database, unused", free > information.fileSize / 4 ? "cipherdata compact releases it" : "", free, InfoText.bytes(free)),
      Bar(
        "Log", information.logSize > information.fileSize ? "larger than the store: a process holds an old snapshot" : "",
        information.logSize, InfoText.bytes(information.logSize)),
      Bar("Large values", "", largeValues.bytes, InfoText.bytes(largeValues.bytes)),
    ]
  }

  private var log: [Bar] {
    let (pages, limit) = (information.logPageCount, information.logPageLimit)
    let note = pages > limit ? "beyond the limit: a process reads an old snapshot of the store" : ""
    return [
      Bar("Pages in the log", note, pages, Self.grouped(pages)),
      Bar("Pages from which a commit copies them into the database", "", limit, Self.grouped(limit)),
    ]
  }

  private var logSummary: String {
    let (pages, commits) = (information.logPageCount, information.logCommitCount)
    guard pages > 0 else { return "The log is empty." }
    let share = information.pageCount == 0 ? 0 : pages * 100 / information.pageCount
    let modified = information.logModified.map {
      ", the last of them at " + ValueCoding.json(.real($0.timeIntervalSinceReferenceDate), type: .date).plainText
    }
    return
      "\(Self.grouped(commits)) commit\(commits == 1 ? "" : "s") since the log was last restarted\(modified ?? ""): as many pages as \(share) % of the database."
  }

  private func bars(_ title: String, _ bars: [Bar], about: String = "") -> String {
    let maximum = max(1, bars.map(\.value).max() ?? 1)
    let rows = bars.map { bar in
      let share = Double(bar.value) / Double(maximum) * 100
      let width = bar.value == 0 ? 0 : max(0.5, (share * 10).rounded() / 10)
      let note = bar.note.isEmpty ? "" : " <span class=\"soft\">\(escaped(bar.note))</span>"
      return
        "<tr><th>\(escaped(bar.name))\(note)</th><td class=\"bar\"><i style=\"width:\(width)%\"></i></td><td class=\"number\">\(escaped(bar.text))</td></tr>"
    }
    return "<section><h2>\(escaped(title))</h2>" + (about.isEmpty ? "" : "<p class=\"soft\">\(escaped(about))</p>")
      + (rows.isEmpty ? "<p class=\"soft\">Nothing.</p>" : "<table class=\"bars\">\(rows.joined())</table>") + "</section>"
  }

  private static func meaning(_ usage: StoreUsage) -> String {
    switch usage.kind {
    case .table: "rows of \(usage.entityNames.prefix(3).joined(separator: ", "))\(usage.entityNames.count > 3 ? " and others" : "")"
    case .index: "index of \(usage.entityNames.first ?? "")"
    case .members: "members of a relationship"
    case .bookkeeping: "the store's own"
    }
  }

  private var indexes: String {
    var text = "<section><h2>Unused indexes</h2>"
    if let unusedIndexes {
      text +=
        unusedIndexes.isEmpty
        ? "<p>Every declared index is used by a fetch template or one of the conditions.</p>"
        : "<ul>"
          + unusedIndexes.map { "<li><b>\(escaped($0.name))</b> of \(escaped($0.entityName))</li>" }.joined()
          + "</ul><p class=\"soft\">Neither a fetch template of the model nor one of the conditions given with --where uses them. Code may.</p>"
    } else {
      text += "<p class=\"soft\">The model has no fetch templates, and no condition was given: the use of indexes is unknown.</p>"
    }
    if !unknownTemplates.isEmpty {
      text += "<p class=\"soft\">Could not be examined: \(escaped(unknownTemplates.joined(separator: ", "))).</p>"
    }
    return text + "</section>"
  }

  private var keys: String {
    let rows = information.keySlots.map { slot -> String in
      let kind =
        switch slot.kind {
        case .passphrase: "passphrase"
        case .rawKey: "raw key"
        case .recovery: "recovery key"
        }
      let created = ValueCoding.json(.real(slot.created.timeIntervalSinceReferenceDate), type: .date).plainText
      let cells = [String(slot.id.uuidString.lowercased().prefix(8)), kind, slot.label, created, slot.kdf?.description ?? ""]
      return "<tr>" + cells.map { "<td>\(escaped($0))</td>" }.joined() + "</tr>"
    }
    return "<section><h2>Keys</h2>"
      + (rows.isEmpty
        ? "<p class=\"soft\">The store has no key file: it is opened with the database's own key.</p>"
        : "<table class=\"list\"><tr><th>id</th><th>kind</th><th>label</th><th>created</th><th>derivation</th></tr>\(rows.joined())</table>")
      + "</section>"
  }

  private var sampleTables: String {
    samples.map { sample in
      let head = sample.columns.map { "<th>\(escaped($0))</th>" }.joined()
      let rows = sample.rows.map { "<tr>" + $0.map { "<td>\(escaped($0))</td>" }.joined() + "</tr>" }.joined()
      return
        "<section><h2>Some of \(escaped(sample.entityName))</h2><div class=\"scroll\"><table class=\"list\"><tr>\(head)</tr>\(rows)</table></div></section>"
    }.joined(separator: "\n")
  }

  /// Returns a number with its digits in groups of three.
  static func grouped(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number).reversed().enumerated() { text = "\(digit)\(index > 0 && index % 3 == 0 ? "," : "")" + text }
    return text
  }

  private static let style = """
    :root { color-scheme: light dark; --ink: #1d1d1f; --soft: #6e6e73; --paper: #ffffff; --ground: #f5f5f7; --rule: #d2d2d7; --bar: #5b8def; }
    @media (prefers-color-scheme: dark) { :root { --ink: #f5f5f7; --soft: #a1a1a6; --paper: #1c1c1e; --ground: #000000; --rule: #38383a; --bar: #4b7bdc; } }
    body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
    main { max-width: 1160px; margin: 0 auto; padding: 32px 20px; }
    h1 { font-size: 30px; margin: 0; } h2 { font-size: 18px; margin: 0 0 12px; } header { margin-bottom: 20px; } header p { margin: 4px 0; }
    section { background: var(--paper); border: 1px solid var(--rule); border-radius: 12px; padding: 18px 20px; margin: 16px 0; }
    .soft { color: var(--soft); font-weight: normal; } footer { margin: 24px 4px; font-size: 13px; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; }
    .tile { background: var(--paper); border: 1px solid var(--rule); border-radius: 12px; padding: 14px 18px; }
    .tile b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; } .tile span { font-size: 13px; }
    .scroll { overflow-x: auto; } .scroll svg { max-width: 100%; height: auto; display: block; margin: 0 auto; }
    table { border-collapse: collapse; width: 100%; } .bars th { text-align: left; font-weight: 500; padding: 4px 14px 4px 0; width: 42%; overflow-wrap: anywhere; }
    .bars .soft { font-size: 12.5px; margin-left: 6px; } .bar { padding: 0; } .bar i { display: block; height: 14px; border-radius: 4px; background: var(--bar); }
    .number { text-align: right; white-space: nowrap; padding-left: 14px; font-variant-numeric: tabular-nums; width: 90px; }
    .list th, .list td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule); vertical-align: top; } .list th { font-size: 12.5px; color: var(--soft); }
    """
}
