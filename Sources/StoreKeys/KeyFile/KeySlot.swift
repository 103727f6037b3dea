public import Foundation

/// A key slot of a store: a key that unlocks it, as anyone who can read the key file sees it. It has a kind, a creation date and a label,
/// but does not contain the key.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// let recovery = try await file.addRecoveryKey()
/// print("write this down:", recovery.text)
/// for slot in file.keySlots where slot.kind == .recovery && slot.id != recovery.slot.id {
///   try await file.removeKey(slot.id)
/// }
/// ```
///
/// Adding a passphrase takes as long as one attempt to guess it, about half a second. The last slot of a store cannot be removed:
/// `removeKey` throws ``StoreError``.
public struct KeySlot: Sendable, Hashable, Identifiable {
  /// The kind of key that unlocks the slot.
  public enum Kind: UInt8, Sendable, Hashable {
    /// A passphrase.
    case passphrase = 1
    /// A raw key of 32 bytes.
    case rawKey = 2
    /// A printed recovery key.
    case recovery = 3
  }

  /// The slot's identifier.
  public let id: UUID
  /// The kind of key that unlocks the slot.
  public let kind: Kind
  /// The label of the slot. It is not secret.
  public let label: String
  /// The creation date.
  public let created: Date
  /// The key derivation function of a passphrase, or `nil` for other kinds.
  public let kdf: KDF?
}

// MARK: - Unlocking slots

/// A secret that may unlock a slot.
package enum UnlockSecret: Sendable {
  case raw(SecretBytes)
  case passphrase(SecretBytes)
}

/// The keys in an unlocked key file.
package struct UnlockedKeys: Sendable {
  /// The data key of each generation, in order.
  package var dataKeys: [SecretBytes]
  /// The public key and the second secret of each slot, 64 bytes.
  package var table: [UUID: SecretBytes] = [:]
  /// The content of the opened slot's box. It also decrypts data keys that another process seals for the slot later.
  var opened: OpenedSlot?

  package init(dataKeys: [SecretBytes]) { self.dataKeys = dataKeys }

  init(dataKeys: [SecretBytes], opened: OpenedSlot?) {
    self.dataKeys = dataKeys
    self.opened = opened
  }
}

/// The identifier of a slot, with its private key and its second secret.
package struct OpenedSlot: Sendable {
  let id: UUID
  let secret: SecretBytes
}

extension KeyFile {
  /// Returns a key file without slots for a new store.
  package static func make(for key: DatabaseKey) -> (file: KeyFile, keys: UnlockedKeys) {
    let file = KeyFile(storeID: UUID(), format: key.format, generations: [Generation(number: 1, salt: key.salt)])
    return (file, UnlockedKeys(dataKeys: [key.key]))
  }

  /// Tries a secret on each slot of its kind, as far as the work limit allows. Returns `nil` if it opens none.
  package func unlock(_ secret: UnlockSecret, path: String, work: inout KeyWork) throws(StoreAccessError) -> (
    keys: UnlockedKeys, slot: UUID
  )? {
    for slot in slotsByLikelihood {
      if case .passphrase = secret, !work.spend(on: slot) { continue }
      guard let opened = try open(slot, secret) else { continue }
      guard let dataKeys = try dataKeys(in: slot, opened) else { throw corrupt(.slotOfOtherStore(id: "\(slot.id)"), path) }
      var keys = UnlockedKeys(dataKeys: dataKeys, opened: OpenedSlot(id: slot.id, secret: opened))
      try authenticate(&keys, path: path)
      RecentSlots.record(slot.id, of: storeID)
      return (keys, slot.id)
    }
    return nil
  }

  /// Tries several secrets. Returns `nil` if none opens a slot.
  package func unlock(_ secrets: [UnlockSecret], path: String, work: inout KeyWork) throws(StoreAccessError) -> UnlockedKeys? {
    for secret in secrets {
      if let unlocked = try unlock(secret, path: path, work: &work) { return unlocked.keys }
    }
    return nil
  }

  /// Unlocks the file after a change by another process, with the keys of an earlier state. Returns `nil` if they are not sufficient.
  package func unlock(reusing known: UnlockedKeys, of earlier: KeyFile, path: String) throws(StoreAccessError) -> UnlockedKeys? {
    var dataKeys: [SecretBytes] = []
    for generation in generations {
      for (old, key) in zip(earlier.generations, known.dataKeys) where old.number == generation.number && old.salt == generation.salt {
        dataKeys.append(key)
      }
    }
    if dataKeys.count != generations.count {
      guard let opened = known.opened, let slot = slots.first(where: { $0.id == opened.id }),
        let sealed = try self.dataKeys(in: slot, opened.secret)
      else { return nil }
      dataKeys = sealed
    }
    var keys = UnlockedKeys(dataKeys: dataKeys, opened: known.opened)
    try authenticate(&keys, path: path)
    return keys
  }

  /// Returns the data keys sealed for a slot whose box is open, or `nil` if one cannot be decrypted.
  private func dataKeys(in slot: Slot, _ opened: SecretBytes) throws(StoreAccessError) -> [SecretBytes]? {
    let privateKey = opened.slice(0..<32)
    let second = opened.slice(32..<64)
    var dataKeys: [SecretBytes] = []
    for (generation, sealed) in zip(generations, slot.sealedKeys) {
      let (shared, publicKey) = try Cryptography.sharedSecret(privateKey, sealed.ephemeralKey)
      let key = try Self.sealingKey(shared: shared, second: second, ephemeralKey: sealed.ephemeralKey, publicKey: publicKey)
      guard
        let dataKey = try Cryptography.open(
          sealed.box, key: key, nonce: sealed.nonce, authenticating: sealingData(slot: slot.id, generation: generation))
      else { return nil }
      dataKeys.append(dataKey)
    }
    return dataKeys
  }

  /// Authenticates the whole file with the data key, and reads its table.
  func authenticate(_ keys: inout UnlockedKeys, path: String) throws(StoreAccessError) {
    guard let first = keys.dataKeys.first else { throw corrupt(.noKey, path) }
    let code = try Self.mac(body, first)
    let isEqual = code.withUnsafeBytes { left in mac.withUnsafeBytes { right in Cryptography.isEqual(left, right) } }
    guard isEqual else { throw corrupt(.changedWithoutKey, path) }
    guard
      let table = try Cryptography.open(
        tableBox, key: try Cryptography.derivedKey(from: first, purpose: "CipherData key file table"), nonce: tableNonce,
        authenticating: header)
    else { throw corrupt(.closedTable, path) }
    keys.table = [:]
    for (index, slot) in slots.enumerated() { keys.table[slot.id] = table.slice(64 * index..<64 * index + 64) }
  }

  package mutating func addSlot(
    _ secret: UnlockSecret, kind: KeySlot.Kind, label: String, kdf: KDF, id: UUID = UUID(), created: Date = Date(), at index: Int? = nil,
    limit: KeyWorkLimit = KeyWorkLimit(), keys: inout UnlockedKeys
  ) throws(StoreAccessError) {
    guard slots.count < Self.maximumSlots else {
      throw StoreAccessError(.invalidKey(.parameters(.slots(limit: Self.maximumSlots))), path: nil, operation: .addSlot)
    }
    var log2N = 0
    if case .passphrase = secret {
      try kdf.check()
      log2N = kdf.log2N
    }
    var slot = Slot(
      id: id, kind: kind, created: Int64(created.timeIntervalSince1970), label: Self.shortened(label), log2N: UInt8(log2N),
      salt: try Cryptography.randomBytes(16), nonce: try Cryptography.randomBytes(Cryptography.nonceSize), box: [], sealedKeys: [])
    try limit.check(adding: slot, to: self)
    let privateKey = try Cryptography.randomSecret(Cryptography.agreementKeySize)
    let second = try Cryptography.randomSecret(32)
    guard let wrappingKey = try Self.wrappingKey(secret, slot) else {
      throw StoreAccessError(.invalidKey(.length(expected: 32, found: 0)), path: nil, operation: .addSlot)
    }
    slot.box = try Cryptography.seal(
      privateKey.appending(second), key: wrappingKey, nonce: slot.nonce, authenticating: header + fields(of: slot))
    let entry = SecretBytes(try Cryptography.agreementPublicKey(for: privateKey)).appending(second)
    for (generation, dataKey) in zip(generations, keys.dataKeys) {
      slot.sealedKeys.append(try sealed(dataKey, slot: slot.id, entry: entry, generation: generation))
    }
    slots.insert(slot, at: min(index ?? slots.count, slots.count))
    keys.table[slot.id] = entry
    if keys.opened == nil || keys.opened?.id == id { keys.opened = OpenedSlot(id: id, secret: privateKey.appending(second)) }
  }

  /// Adds the next generation of the data key, sealed for every slot.
  ///
  /// - Returns: The generation's number.
  package mutating func addGeneration(_ key: DatabaseKey, keys: inout UnlockedKeys) throws(StoreAccessError) -> UInt32 {
    let (number, isFull) = (generations.map(\.number).max() ?? 0).addingReportingOverflow(1)
    guard !isFull else { throw corrupt(.usedUpNumbers, nil) }
    let generation = Generation(number: number, salt: key.salt)
    for index in slots.indices {
      guard let entry = keys.table[slots[index].id] else { throw corrupt(.slotNotInTable(id: "\(slots[index].id)"), nil) }
      slots[index].sealedKeys.append(try sealed(key.key, slot: slots[index].id, entry: entry, generation: generation))
    }
    generations.append(generation)
    keys.dataKeys.append(key.key)
    return number
  }

  /// Removes all generations but one. It is identified by number, since another process may have changed its position in the file.
  ///
  /// - Returns: `false` if the file does not contain the generation. Nothing is changed then.
  package mutating func retainGeneration(_ number: UInt32, keys: inout UnlockedKeys) -> Bool {
    guard let index = place(of: number, keys) else { return false }
    generations = [generations[index]]
    for slot in slots.indices { slots[slot].sealedKeys = [slots[slot].sealedKeys[index]] }
    keys.dataKeys = [keys.dataKeys[index]]
    return true
  }

  /// Removes a generation if the file contains it and others. A rotation removes the key that it added, or the previous one, but never a
  /// later one.
  package mutating func removeGeneration(_ number: UInt32, keys: inout UnlockedKeys) {
    guard generations.count > 1, let index = place(of: number, keys) else { return }
    generations.remove(at: index)
    for slot in slots.indices { slots[slot].sealedKeys.remove(at: index) }
    keys.dataKeys.remove(at: index)
  }

  /// Returns the index of a generation in the file, the keys and every slot, or `nil` if one of them does not contain it.
  private func place(of number: UInt32, _ keys: UnlockedKeys) -> Int? {
    guard let index = generations.firstIndex(where: { $0.number == number }), index < keys.dataKeys.count,
      slots.allSatisfy({ index < $0.sealedKeys.count })
    else { return nil }
    return index
  }

  /// Seals the table and computes the authentication code. This is the last step before the file is written.
  package mutating func finish(_ keys: UnlockedKeys) throws(StoreAccessError) {
    guard let first = keys.dataKeys.first else { return }
    var table = SecretBytes([])
    for slot in slots {
      guard let entry = keys.table[slot.id] else { continue }
      table = table.appending(entry)
    }
    tableNonce = try Cryptography.randomBytes(Cryptography.nonceSize)
    tableBox = try Cryptography.seal(
      table, key: try Cryptography.derivedKey(from: first, purpose: "CipherData key file table"), nonce: tableNonce, authenticating: header)
    mac = try Self.mac(body, first)
  }

  // MARK: -

  private func open(_ slot: Slot, _ secret: UnlockSecret) throws(StoreAccessError) -> SecretBytes? {
    guard let key = try Self.wrappingKey(secret, slot) else { return nil }
    return try Cryptography.open(slot.box, key: key, nonce: slot.nonce, authenticating: header + fields(of: slot))
  }

  /// Returns the key of a slot's box, or `nil` if the secret is of another kind than the slot's.
  private static func wrappingKey(_ secret: UnlockSecret, _ slot: Slot) throws(StoreAccessError) -> SecretBytes? {
    switch secret {
    case .raw(let key):
      guard slot.log2N == 0, key.count == 32 else { return nil }
      return try Cryptography.derivedKey(from: key, purpose: "CipherData slot", context: slot.salt)
    case .passphrase(let passphrase):
      guard slot.log2N > 0 else { return nil }
      return try Cryptography.scrypt(
        passphrase, salt: slot.salt, log2N: Int(slot.log2N), blockSize: KDF.blockSize, parallelism: KDF.parallelism)
    }
  }

  private func sealed(_ dataKey: SecretBytes, slot: UUID, entry: SecretBytes, generation: Generation) throws(StoreAccessError) -> SealedKey
  {
    let publicKey = entry.withUnsafeBytes { Array($0[0..<32]) }
    let ephemeral = try Cryptography.randomSecret(Cryptography.agreementKeySize)
    let (shared, ephemeralKey) = try Cryptography.sharedSecret(ephemeral, publicKey)
    let key = try Self.sealingKey(shared: shared, second: entry.slice(32..<64), ephemeralKey: ephemeralKey, publicKey: publicKey)
    let nonce = try Cryptography.randomBytes(Cryptography.nonceSize)
    let box = try Cryptography.seal(dataKey, key: key, nonce: nonce, authenticating: sealingData(slot: slot, generation: generation))
    return SealedKey(ephemeralKey: ephemeralKey, nonce: nonce, box: box)
  }

  /// Derives a key by HKDF from the shared secret, with the slot's second secret as its salt and bound to both public keys.
  private static func sealingKey(
    shared: SecretBytes, second: SecretBytes, ephemeralKey: [UInt8], publicKey: [UInt8]
  ) throws(StoreAccessError) -> SecretBytes {
    let extracted = try Cryptography.mixed(shared, salt: second)
    return try Cryptography.derivedKey(from: extracted, purpose: "CipherData sealed key", context: ephemeralKey + publicKey)
  }

  private func sealingData(slot: UUID, generation: Generation) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(header)
    writer.append(slot)
    writer.append(generation.number)
    writer.append(generation.salt)
    return writer.bytes
  }

  private static func mac(_ body: [UInt8], _ dataKey: SecretBytes) throws(StoreAccessError) -> [UInt8] {
    try Cryptography.hmac(try Cryptography.derivedKey(from: dataKey, purpose: "CipherData key file"), body, hash: .sha256)
  }

  private func corrupt(_ what: StoreAccessError.KeyFileDamage, _ path: String?) -> StoreAccessError {
    StoreAccessError(.keyFileCorrupt(what), path: path, operation: .unlock)
  }

  /// Shortens a label to at most 255 bytes of UTF-8, at a character boundary.
  private static func shortened(_ label: String) -> String {
    var label = label
    while label.utf8.count > 255 { label.removeLast() }
    return label
  }
}
