extension Hub {
  /// Returns what a device compares with its records.
  package func verify(_ request: VerificationRequest, in storage: some HubStorage) throws -> VerificationAnswer {
    try storage.transaction {
      guard try storage.incarnation() == request.incarnation else { return .moved }
      guard try request.isExact ? storage.head() == request.point : storage.chainHead(at: request.point.sequence) == request.point.head
      else { return .moved }
      switch request.query {
      case .sums(let ranges): return .sums(try ranges.flatMap(\.parts).map { try sum(of: $0, in: storage) })
      case .versions(let ranges, let last, let maximumCount):
        var found: [RecordVersion] = []
        for range in ranges {
          var names = range.names
          if let last, names.upperBound <= last { continue }
          if let next = last?.next, names.contains(next) { names = next...names.upperBound }
          found += try storage.versions(in: names, maximumCount: maximumCount - found.count)
          if found.count >= maximumCount { return .versions(found, isLast: false) }
        }
        return .versions(found, isLast: true)
      case .records(let names):
        var (records, size): ([StoredRecord], Int) = ([], 0)
        for (count, name) in names.enumerated() {
          guard let record = try storage.record(name) else { continue }
          size += record.body.count
          if size > limits.bytesInPage, !records.isEmpty { return .records(records, nameCount: count) }
          records.append(record)
        }
        return .records(records, nameCount: names.count)
      }
    }
  }

  func sum(of range: NameRange, in storage: some HubStorage) throws -> RecordSum {
    var sum = RecordSum()
    var next: RecordName? = range.names.lowerBound
    while let first = next, first <= range.names.upperBound {
      let page = try storage.versions(in: first...range.names.upperBound, maximumCount: 1_000)
      for record in page { try sum.add(record, hashing) }
      next = page.count < 1_000 ? nil : page.last?.name.next
    }
    return sum
  }
}
