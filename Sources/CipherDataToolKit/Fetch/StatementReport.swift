package import SQLCipherStore

/// A report on the SQL statements of a query: how often each ran, and which objects were read individually.
package struct StatementReport {
  private let statements: [String]
  private let faultReads: [FaultReads]

  /// Creates a report from the events that an observer recorded.
  package init(_ observer: SQLObserver) {
    statements = observer.statements
    faultReads = observer.faultReads
  }

  /// Writes the statements in the order of their first run, then the reads of single objects after the fetch, then advice on prefetching.
  package func write(to sink: OutputSink) throws {
    var times: [String: Int] = [:]
    var order: [String] = []
    for text in statements {
      let text = Self.shortened(text)
      if times.updateValue(times[text, default: 0] + 1, forKey: text) == nil { order.append(text) }
    }
    let table = TableWriter(columns: ["times", "statement"], to: sink)
    for text in order { try table.write([.number(String(times[text] ?? 0)), .string(text)]) }
    try table.finish()
    if !faultReads.isEmpty {
      try sink.line("")
      let table = TableWriter(columns: ["read after the fetch", "requests", "objects", "one by one"], to: sink)
      for reads in faultReads {
        try table.write([
          .string(reads.title), .number(String(reads.requests)), .number(String(reads.objects)), .number(String(reads.singleReads)),
        ])
      }
      try table.finish()
    }
    for reads in faultReads where reads.singleReads >= Self.manyReads {
      try sink.line("")
      try sink.line("\(reads.title) were read one by one \(reads.singleReads) times: \(reads.advice)")
    }
    try sink.flush()
  }

  /// Returns a statement on one line, with long placeholder lists replaced by their count.
  private static func shortened(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      .replacing(/\?(?:, \?){4,}/) { list in "? × \(list.output.count { $0 == "?" })" }
  }

  /// The number of single-object reads from which the report advises prefetching.
  private static let manyReads = 20
}

extension FaultReads {
  fileprivate var title: String {
    switch subject {
    case .rows(let entity): "rows of \(entity)"
    case .members(let entity, let relationship): "members of \(entity).\(relationship)"
    }
  }

  fileprivate var advice: String {
    switch subject {
    case .rows(let entity): "fetch the objects of \(entity) together, or prefetch the relationship that leads to them."
    case .members(_, let relationship): "fetch the objects together, or prefetch “\(relationship)” for all of them."
    }
  }
}
