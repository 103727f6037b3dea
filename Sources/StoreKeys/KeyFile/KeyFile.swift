package import Foundation

/// The slots and generations of a store's data key, as a value. `KeyFile+Slots.swift` wraps and unwraps.
package struct KeyFile {
  /// One data key of the store. There are two while a rotation is under way.
  package struct Generation {
    package var number: UInt32
    /// The salt in the database's first bytes.
    package var salt: [UInt8]
  }

  /// A data key sealed for the public key of a slot.
  package struct SealedKey {
    var ephemeralKey: [UInt8]
    var nonce: [UInt8]
    var box: [UInt8]
  }

  /// One way to unlock.
  package struct Slot {
    package var id: UUID
    var kind: KeySlot.Kind
    package var created: Int64
    package var label: String
    /// The logarithm of scrypt's cost, 0 where nothing is stretched.
    var log2N: UInt8
    var salt: [UInt8]
    var nonce: [UInt8]
    /// The slot's private key and its second secret, sealed with the key that the user gives.
    var box: [UInt8]
    /// One for each generation, in their order.
    var sealedKeys: [SealedKey]

    package var description: KeySlot {
      KeySlot(
        id: id, kind: kind, label: label, created: Date(timeIntervalSince1970: TimeInterval(created)),
        kdf: log2N == 0 ? nil : KDF(log2N: Int(log2N), isUnchecked: log2N < KDF.floor))
    }
  }

  static let magic = Array("CipherDK".utf8)
  static let version: UInt16 = 1
  /// Passphrases are normalised to NFC: the rule is frozen in the file.
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
  /// What the holder of the data key must know of every slot (public key, second secret), sealed with the first generation's key.
  var tableNonce: [UInt8] = []
  var tableBox: [UInt8] = []
  /// The code over all before it, with a key derived from the first generation's.
  var mac: [UInt8] = []

  /// The fields that never change, authenticated with every slot: no slot can be moved to another store or format.
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

  /// A slot's fields before its first nonce.
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

  /// All before the code.
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

  /// The file's bytes; the checksum at the end tells damage from a wrong key.
  package func serialized() throws(StoreAccessError) -> [UInt8] {
    try Self.withChecksum(body + mac)
  }

  /// Bytes with the checksum that makes a file of them.
  package static func withChecksum(_ content: [UInt8]) throws(StoreAccessError) -> [UInt8] { content + (try Cryptography.sha256(content)) }

  /// Reads a file's bytes, trusting nothing: at most ``maximumSize`` bytes, ``maximumSlots`` slots and two generations; nothing is nested.
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
    // The cap stops a file that would exhaust the memory.
    guard log2N <= KDF.cap, Int(blockSize) == KDF.blockSize, Int(parallelism) == KDF.parallelism else { return nil }
    guard (kind == .passphrase) == (log2N > 0) else { return nil }
    // The label is authenticated as bytes: only text that comes out as it went in may stand there.
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
