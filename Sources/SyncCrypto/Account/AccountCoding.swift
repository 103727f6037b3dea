import SyncCore

extension WireWriter {
  mutating func write(_ id: AccountID) {
    writeFixed(id.high)
    writeFixed(id.low)
  }

  mutating func write(_ id: ZoneID) {
    writeFixed(id.high)
    writeFixed(id.low)
  }
}

extension WireReader {
  mutating func readAccountID() throws -> AccountID { AccountID(high: try readFixed(), low: try readFixed()) }
  mutating func readZoneID() throws -> ZoneID { ZoneID(high: try readFixed(), low: try readFixed()) }

  /// Reads bytes after their length, which must be a given one.
  mutating func readBytes(count: Int) throws -> [UInt8] {
    let bytes = try readBytes()
    guard bytes.count == count else { throw WireError.invalid }
    return bytes
  }
}

/// Calls a closure that decodes content, and replaces errors of the encoding by those of this module.
func decoding<Result>(_ content: SyncCryptoError.Content, _ body: () throws -> Result) throws -> Result {
  do {
    return try body()
  } catch WireError.unsupportedVersion(let version) {
    throw SyncCryptoError.unsupportedFormat(content, version)
  } catch is WireError {
    throw SyncCryptoError.damaged(content)
  }
}
