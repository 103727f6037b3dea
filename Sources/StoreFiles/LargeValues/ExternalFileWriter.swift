import Foundation
import StoreKeys

/// Writes and encrypts the file of a large value, with one chunk in memory at a time. The file is removed unless ``finish()`` is called.
package final class ExternalFileWriter {
  package let id: Int64
  package private(set) var count = 0
  private let path: String
  private let cipher: ChunkCipher
  private let digest: IncrementalDigest
  private var descriptor: Int32
  private var isFinished = false
  private var index = 0
  private var filled = 0
  private let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: ExternalFileFormat.chunkSize, alignment: 16)
  private let sealed = UnsafeMutableRawBufferPointer.allocate(
    byteCount: ExternalFileFormat.chunkSize + Cryptography.tagSize, alignment: 16)

  /// - Parameter owner: The owner of the file, as far as this process can set it.
  init(path: String, id: Int64, keys: ExternalKeys, owner: FileOwner? = nil) throws {
    self.path = path
    self.id = id
    let salt = try Cryptography.randomBytes(ExternalFileFormat.saltSize)
    let header = ExternalFileFormat.header(salt: salt)
    cipher = try ChunkCipher(key: keys.key(id, salt: salt), header: header)
    digest = try IncrementalDigest()
    descriptor = try StoreFile.openExclusively(path)
    try owner?.transfer(descriptor, path: path, replacing: false)
    try header.withUnsafeBytes { bytes in try put(bytes) }
  }

  deinit {
    Cryptography.wipe(plain)
    plain.deallocate()
    sealed.deallocate()
    if descriptor >= 0 { _ = Foundation.close(descriptor) }
    if !isFinished { unlink(path) }
  }

  private static let operation: StoreAccessError.Operation = .writeLargeValue

  package func write(_ bytes: UnsafeRawBufferPointer) throws {
    try digest.append(bytes)
    count += bytes.count
    try fill(bytes)
  }

  /// Pads the file, makes it durable, and returns the SHA-256 digest of the bytes. The folder's entry is not durable yet.
  package func finish() throws -> [UInt8] {
    var left = ExternalFileFormat.paddedSize(count) - ExternalFileFormat.trailerSize - count
    let zeros = [UInt8](repeating: 0, count: min(left, 4096))
    while left > 0 {
      let size = min(left, zeros.count)
      try zeros.withUnsafeBytes { bytes in try fill(UnsafeRawBufferPointer(rebasing: bytes[..<size])) }
      left -= size
    }
    try withUnsafeBytes(of: UInt64(count).littleEndian) { bytes in try fill(bytes) }
    try sealChunk(isLast: true)
    guard fsync(descriptor) == 0 else { throw StoreAccessError.system(errno, path: path, operation: Self.operation) }
    _ = Foundation.close(descriptor)
    descriptor = -1
    let result = try digest.finish()
    isFinished = true
    return result
  }

  private func fill(_ bytes: UnsafeRawBufferPointer) throws {
    var position = 0
    while position < bytes.count {
      // A full chunk is sealed when more bytes follow, since the last one is sealed differently.
      if filled == plain.count { try sealChunk(isLast: false) }
      let size = min(bytes.count - position, plain.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: plain[filled..<filled + size])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + size]))
      filled += size
      position += size
    }
  }

  private func sealChunk(isLast: Bool) throws {
    let output = UnsafeMutableRawBufferPointer(rebasing: sealed[..<(filled + Cryptography.tagSize)])
    try cipher.seal(UnsafeRawBufferPointer(rebasing: plain[..<filled]), index, isLast: isLast, into: output)
    try put(UnsafeRawBufferPointer(output))
    index += 1
    filled = 0
  }

  private func put(_ bytes: UnsafeRawBufferPointer) throws {
    var position = 0
    while position < bytes.count {
      let size = Foundation.write(descriptor, bytes.baseAddress?.advanced(by: position), bytes.count - position)
      if size < 0 && errno == EINTR { continue }
      guard size > 0 else { throw StoreAccessError.system(size < 0 ? errno : ENOSPC, path: path, operation: Self.operation) }
      position += size
    }
  }
}
