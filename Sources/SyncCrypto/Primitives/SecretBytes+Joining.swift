import StoreKeys

extension SecretBytes {
  /// Creates the concatenation of secrets.
  convenience init(joining parts: [SecretBytes]) {
    self.init(count: parts.reduce(0) { $0 + $1.count }) { buffer in
      var position = 0
      for part in parts {
        part.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: buffer[position...]).copyMemory(from: $0) }
        position += part.count
      }
    }
  }
}
