extension Hub {
  /// Returns what a device compares with its records. Both sides must have the same commits.
  package func verify(_ request: VerificationRequest, in storage: some HubStorage) throws -> VerificationAnswer {
    try storage.transaction {
      switch request {
      case .digest(let incarnation, let point):
        guard try storage.incarnation() == incarnation, try storage.head() == point else { return .moved }
        var digest = ZoneDigest()
        var next: RecordName? = RecordName(.zero)
        while let first = next {
          let page = try storage.versions(in: first...RecordName(.max), maximumCount: 1_000)
          for record in page { try digest.add(record, hashing) }
          next = page.last?.name.next
        }
        return .digest(digest)
      case .versions(let incarnation, let point, let range, let first, let maximumCount):
        let last = ZoneDigest.names(in: range).upperBound
        guard try storage.incarnation() == incarnation, try storage.head() == point, first <= last else { return .moved }
        let records = try storage.versions(in: first...last, maximumCount: maximumCount)
        return .versions(records, isLast: records.count < maximumCount)
      }
    }
  }
}
