package import Foundation

/// The content of a key file: the slots and generations of a store's data key. Numbers are little-endian; ``body`` writes the fields in
/// order.
///
/// The user's key opens the box of a slot, which contains an X25519 private key and a second secret of 32 bytes. The data key of each
/// generation is sealed for this pair. So a rotation can seal the new data key for all remaining slots without their passphrases. The box
/// of a removed slot, or an old data key, cannot open the new one. The public keys and second secrets, which a rotation needs, are in a
/// table encrypted with the data key. Without the data key, the file contains only symmetric ciphertext.
///
/// `KeySlot.swift` wraps and unwraps the data key.
package struct KeyFile {
  /// A data key of the store. There are two during a rotation.
  package struct Generation {
    package var number: UInt32
    /// The salt in the first bytes of the database.
    package var salt: [UInt8]
  }

  /// A data key sealed for the public key of a slot.
  package struct SealedKey {
    var ephemeralKey: [UInt8]
    var nonce: [UInt8]
    var box: [UInt8]
  }

  /// A key that unlocks the store.
  package struct Slot {
    package var id: UUID
    var kind: KeySlot.Kind
    package var created: Int64
    package var label: String
    /// The binary logarithm of scrypt's cost, or 0 without key derivation.
    var log2N: UInt8
    var salt: [UInt8]
    var nonce: [UInt8]
    /// The slot's private key and second secret, sealed with the user's key.
    var box: [UInt8]
    /// The sealed data key of each generation, in order.
    var sealedKeys: [SealedKey]

    package var description: KeySlot {
      KeySlot(
        id: id, kind: kind, label: label, created: Date(timeIntervalSince1970: TimeInterval(created)),
        kdf: log2N == 0 ? nil : KDF(log2N: Int(log2N), isUnchecked: log2N < KDF.floor))
    }
  }

  static let magic = Array("CipherDK".utf8)
  static let version: UInt16 = 1
  /// Passphrases are normalized to NFC. The file records the rule, which never changes.
  static let normalization: UInt16 = 1
  static let maximumSlots = 64
  package static let maximumSize = 1 << 20
  static let boxSize = 64 + Cryptography.tagSize
  static let sealedBoxSize = DatabaseKey.keySize + Cryptography.tagSize
  static let macSize = 32

  package var storeID: UUID
  package var format: SQLCipherFormat
  package var generations: [Generation]
  package var slots: [Slot] = []
  /// The public key and second secret of every slot, sealed with the first generation's key.
  var tableNonce: [UInt8] = []
  var tableBox: [UInt8] = []
  /// The authentication code of all preceding bytes, with a key derived from the first generation's.
  var mac: [UInt8] = []

  /// The fields that never change. They are authenticated with every slot, so that slots cannot be moved to another store or format.
  var header: [UInt8] {
    var writer = ByteWriter()
    writer.append(Self.magic)
    writer.append(Self.version)
    writer.append(Self.normalization)
    writer.append(storeID)
    writer.append(UInt8(format.version))
    writer.append(UInt8(format.pageSize.trailingZeroBitCount))
    return writer.bytes
  }

  /// Returns the bytes of a slot's fields before its first nonce.
  func fields(of slot: Slot) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(slot.id)
    writer.append(slot.kind.rawValue)
    writer.append(UInt64(bitPattern: slot.created))
    let label = Array(slot.label.utf8.prefix(255))
    writer.append(UInt8(label.count))
    writer.append(label)
    writer.append(slot.log2N)
    writer.append(UInt8(KDF.blockSize))
    writer.append(UInt8(KDF.parallelism))
    writer.append(slot.salt)
    return writer.bytes
  }

  /// The bytes before the authentication code.
  package var body: [UInt8] {
    var writer = ByteWriter()
    writer.append(header)
    writer.append(UInt8(generations.count))
    writer.append(UInt8(slots.count))
    for generation in generations {
      writer.append(generation.number)
      writer.append(generation.salt)
    }
    for slot in slots {
      writer.append(fields(of: slot))
      writer.append(slot.nonce)
      writer.append(slot.box)
      for key in slot.sealedKeys {
        writer.append(key.ephemeralKey)
        writer.append(key.nonce)
        writer.append(key.box)
      }
    }
    writer.append(tableNonce)
    writer.append(tableBox)
    return writer.bytes
  }

  /// Returns the file's bytes. The checksum at the end distinguishes damage from a wrong key.
  package func serialized() throws(StoreAccessError) -> [UInt8] {
    try Self.withChecksum(body + mac)
  }

  /// Appends the checksum of a key file to its content.
  package static func withChecksum(_ content: [UInt8]) throws(StoreAccessError) -> [UInt8] { content + (try Cryptography.sha256(content)) }

  /// Parses a file's bytes, which are untrusted: at most ``maximumSize`` bytes, ``maximumSlots`` slots and two generations, without
  /// nesting.
  package init(parsing bytes: [UInt8], path: String) throws(StoreAccessError) {
    func corrupt(_ what: StoreAccessError.KeyFileDamage) -> StoreAccessError {
      StoreAccessError(.keyFileCorrupt(what), path: path, operation: .readKeyFile)
    }
    guard bytes.count > 64, bytes.count <= Self.maximumSize else { throw corrupt(.size(bytes.count)) }
    guard Array(bytes.prefix(Self.magic.count)) == Self.magic else { throw corrupt(.beginning) }
    let content = Array(bytes.dropLast(32))
    guard try Cryptography.sha256(content) == Array(bytes.suffix(32)) else { throw corrupt(.checksum) }

    var reader = ByteReader(content[Self.magic.count...])
    guard let version = reader.uint16(), let normalization = reader.uint16() else { throw corrupt(.ending) }
    guard version == Self.version, normalization == Self.normalization else {
      throw StoreAccessError(
        .unsupportedFormat(.keyFile(version: Int(version), known: Int(Self.version))), path: path, operation: .readKeyFile)
    }
    guard let id = reader.uuid(), let cipher = reader.uint8(), let pageBits = reader.uint8(), let generationCount = reader.uint8(),
      let slotCount = reader.uint8()
    else { throw corrupt(.ending) }
    guard (9...16).contains(pageBits) else { throw corrupt(.pageSize) }
    guard (1...2).contains(generationCount), (1...UInt8(Self.maximumSlots)).contains(slotCount) else {
      throw corrupt(.counts)
    }
    storeID = id
    format = SQLCipherFormat(version: Int(cipher), pageSize: 1 << Int(pageBits))
    generations = []
    for _ in 0..<generationCount {
      guard let number = reader.uint32(), let salt = reader.bytes(DatabaseKey.saltSize) else { throw corrupt(.ending) }
      generations.append(Generation(number: number, salt: salt))
    }
    for _ in 0..<slotCount {
      guard let slot = Self.readSlot(&reader, generations: generations.count) else {
        throw corrupt(.slot(slots.count + 1))
      }
      slots.append(slot)
    }
    guard let nonce = reader.bytes(Cryptography.nonceSize), let box = reader.bytes(64 * slots.count + Cryptography.tagSize),
      let mac = reader.bytes(Self.macSize), reader.isAtEnd
    else { throw corrupt(.end) }
    tableNonce = nonce
    tableBox = box
    self.mac = mac
  }

  init(storeID: UUID, format: SQLCipherFormat, generations: [Generation]) {
    self.storeID = storeID
    self.format = format
    self.generations = generations
  }

  private static func readSlot(_ reader: inout ByteReader, generations: Int) -> Slot? {
    guard let id = reader.uuid(), let kind = reader.uint8().flatMap(KeySlot.Kind.init), let created = reader.uint64(),
      let labelSize = reader.uint8(), let label = reader.bytes(Int(labelSize)), let log2N = reader.uint8(), let blockSize = reader.uint8(),
      let parallelism = reader.uint8(), let salt = reader.bytes(16), let nonce = reader.bytes(Cryptography.nonceSize),
      let box = reader.bytes(boxSize)
    else { return nil }
    // The limit prevents a file from exhausting memory.
    guard log2N <= KDF.cap, Int(blockSize) == KDF.blockSize, Int(parallelism) == KDF.parallelism else { return nil }
    guard (kind == .passphrase) == (log2N > 0) else { return nil }
    // The label is authenticated as bytes, so only valid UTF-8, which round-trips, is accepted.
    let text = String(decoding: label, as: UTF8.self)
    guard Array(text.utf8) == label else { return nil }
    var sealedKeys: [SealedKey] = []
    for _ in 0..<generations {
      guard let key = reader.bytes(Cryptography.agreementKeySize), let nonce = reader.bytes(Cryptography.nonceSize),
        let box = reader.bytes(sealedBoxSize)
      else { return nil }
      sealedKeys.append(SealedKey(ephemeralKey: key, nonce: nonce, box: box))
    }
    return Slot(
      id: id, kind: kind, created: Int64(bitPattern: created), label: text, log2N: log2N, salt: salt, nonce: nonce, box: box,
      sealedKeys: sealedKeys)
  }
}

/// Serializes numbers (little-endian) and bytes.
package struct ByteWriter {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func append(_ value: some FixedWidthInteger & UnsignedInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  package mutating func append(_ values: [UInt8]) { bytes += values }

  mutating func append(_ id: UUID) { withUnsafeBytes(of: id.uuid) { bytes += $0 } }
}

/// Parses numbers (little-endian) and bytes. Reads past the end return `nil`.
struct ByteReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func uint8() -> UInt8? { number() }
  mutating func uint16() -> UInt16? { number() }
  mutating func uint32() -> UInt32? { number() }
  mutating func uint64() -> UInt64? { number() }

  mutating func uuid() -> UUID? {
    bytes(16).map { $0.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) } }
  }

  private mutating func number<Number: FixedWidthInteger>() -> Number? {
    bytes(Number.bitWidth / 8).map { $0.reversed().reduce(Number(0)) { $0 << 8 | Number($1) } }
  }
}
