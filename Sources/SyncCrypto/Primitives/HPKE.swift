package import StoreKeys

/// Hybrid public key encryption (RFC 9180) in base mode with DHKEM(X25519, HKDF-SHA256) and HKDF-SHA256.
package enum HPKE {
  /// The algorithm that encrypts messages, by its number in the standard.
  package enum AEAD: UInt16, Sendable {
    case aes128GCM = 1
    case aes256GCM = 2

    var keySize: Int { self == .aes128GCM ? 16 : 32 }
  }

  /// A message for the owner of a public key.
  package struct Message: Hashable, Sendable {
    /// The sender's ephemeral public key.
    package var encapsulatedKey: [UInt8]
    package var ciphertext: [UInt8]

    package init(encapsulatedKey: [UInt8], ciphertext: [UInt8]) { (self.encapsulatedKey, self.ciphertext) = (encapsulatedKey, ciphertext) }
  }

  /// Encrypts a single message.
  ///
  /// - Parameter information: The purpose of the message. The receiver must state the same.
  package static func seal(
    _ secret: SecretBytes, to publicKey: [UInt8], _ information: [UInt8], _ aead: AEAD = .aes256GCM
  ) throws -> Message {
    var (context, encapsulatedKey) = try Context.sender(to: publicKey, information, aead, ephemeral: .random())
    return Message(encapsulatedKey: encapsulatedKey, ciphertext: try context.seal(secret, authenticating: []))
  }

  /// Decrypts a single message.
  ///
  /// - Returns: Nil if the message was not encrypted for this key and purpose.
  package static func open(
    _ message: Message, with key: AgreementKey, _ information: [UInt8], _ aead: AEAD = .aes256GCM
  ) throws -> SecretBytes? {
    var context = try Context.receiver(message.encapsulatedKey, with: key, information, aead)
    return try context.open(message.ciphertext, authenticating: [])
  }

  /// The state of a sender or receiver of messages.
  struct Context {
    private let aead: AEAD
    private let key: SecretBytes
    private let baseNonce: SecretBytes
    /// The number of messages so far.
    private var sequence: UInt64 = 0

    /// - Parameter ephemeral: A key pair that is used for this context only.
    static func sender(
      to publicKey: [UInt8], _ information: [UInt8], _ aead: AEAD, ephemeral: AgreementKey
    ) throws -> (context: Context, encapsulatedKey: [UInt8]) {
      let secret = try HPKE.sharedSecret(
        try ephemeral.sharedSecret(with: publicKey), encapsulatedKey: ephemeral.publicKey, publicKey: publicKey)
      return (try Context(secret, information, aead), ephemeral.publicKey)
    }

    static func receiver(_ encapsulatedKey: [UInt8], with key: AgreementKey, _ information: [UInt8], _ aead: AEAD) throws -> Context {
      let secret = try HPKE.sharedSecret(
        try key.sharedSecret(with: encapsulatedKey), encapsulatedKey: encapsulatedKey, publicKey: key.publicKey)
      return try Context(secret, information, aead)
    }

    /// The key schedule of section 5.1, without a pre-shared key.
    private init(_ sharedSecret: SecretBytes, _ information: [UInt8], _ aead: AEAD) throws {
      let suite = Suite(Array("HPKE".utf8) + bytes(kem) + bytes(kdf) + bytes(aead.rawValue))
      let none = SecretBytes([])
      let keyHash = try suite.extract("psk_id_hash", none, salt: none)
      let informationHash = try suite.extract("info_hash", SecretBytes(information), salt: none)
      let mode: UInt8 = 0
      let context = [mode] + keyHash.withUnsafeBytes { Array($0) } + informationHash.withUnsafeBytes { Array($0) }
      let secret = try suite.extract("secret", none, salt: sharedSecret)
      self.aead = aead
      key = try suite.expand(secret, "key", context, count: aead.keySize)
      baseNonce = try suite.expand(secret, "base_nonce", context, count: GCMCipher.nonceSize)
    }

    mutating func seal(_ secret: SecretBytes, authenticating data: [UInt8]) throws -> [UInt8] {
      defer { sequence += 1 }
      return try GCMCipher.seal(secret, key: key, nonce: nonce, authenticating: data)
    }

    mutating func open(_ ciphertext: [UInt8], authenticating data: [UInt8]) throws -> SecretBytes? {
      guard let secret = try GCMCipher.open(ciphertext, key: key, nonce: nonce, authenticating: data) else { return nil }
      sequence += 1
      return secret
    }

    private var nonce: [UInt8] {
      var nonce = baseNonce.withUnsafeBytes { Array($0) }
      for index in 0..<8 { nonce[nonce.count - 1 - index] ^= UInt8(truncatingIfNeeded: sequence >> UInt64(8 * index)) }
      return nonce
    }
  }

  /// Returns the shared secret of section 4.1.
  private static func sharedSecret(_ agreed: SecretBytes, encapsulatedKey: [UInt8], publicKey: [UInt8]) throws -> SecretBytes {
    let suite = Suite(Array("KEM".utf8) + bytes(kem))
    let key = try suite.extract("eae_prk", agreed, salt: SecretBytes([]))
    return try suite.expand(key, "shared_secret", encapsulatedKey + publicKey, count: 32)
  }

  private static let (kem, kdf): (UInt16, UInt16) = (0x20, 1)

  private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

  /// HKDF with the labels of section 4.
  private struct Suite {
    let id: [UInt8]

    init(_ id: [UInt8]) { self.id = id }

    func extract(_ label: String, _ secret: SecretBytes, salt: SecretBytes) throws -> SecretBytes {
      let labeled = SecretBytes(Array("HPKE-v1".utf8) + id + Array(label.utf8)).appending(secret)
      return try salt.withUnsafeBytes { try HKDF.extract(labeled, salt: $0) }
    }

    func expand(_ key: SecretBytes, _ label: String, _ information: [UInt8], count: Int) throws -> SecretBytes {
      let size = HPKE.bytes(UInt16(count))
      return try HKDF.expand(key, size + Array("HPKE-v1".utf8) + id + Array(label.utf8) + information, count: count)
    }
  }
}
