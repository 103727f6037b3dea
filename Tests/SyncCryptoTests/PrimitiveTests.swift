import StoreKeys
import SyncCore
import XCTest

@testable import SyncCrypto

/// The primitives, with published vectors.
final class PrimitiveTests: XCTestCase {
  /// RFC 5869, appendix A.1 to A.3.
  func testKeyDerivation() throws {
    let cases: [(secret: [UInt8], salt: [UInt8], information: [UInt8], key: String, output: String)] = [
      (
        Array(repeating: 0x0b, count: 22), Array(0x00...0x0c), Array(0xf0...0xf9),
        "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
      ),
      (
        Array(0x00...0x4f), Array(0x60...0xaf), Array(0xb0...0xff), "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
        """
        b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09
        da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
        """
      ),
      (
        Array(repeating: 0x0b, count: 22), [], [], "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
      ),
    ]
    for test in cases {
      let key = try HKDF.extract(SecretBytes(test.secret), salt: test.salt)
      XCTAssertEqual(key.bytes, hex(test.key))
      let output = hex(test.output)
      XCTAssertEqual(try HKDF.expand(key, test.information, count: output.count).bytes, output)
    }
  }

  /// NIST's gcmEncryptExtIV256.rsp, the first case of several sizes.
  func testAuthenticatedEncryption() throws {
    let cases: [(key: String, nonce: String, plaintext: String, data: String, ciphertext: String)] = [
      (
        "b52c505a37d78eda5dd34f20c22540ea1b58963cf8e5bf8ffa85f9f2492505b4", "516c33929df5a3284ff463d7", "", "",
        "bdc1ac884d332457a1d2664f168c76f0"
      ),
      (
        "31bdadd96698c204aa9ce1448ea94ae1fb4a9a0b3c9d773b51bb1822666b8f22", "0d18e06c7c725ac9e362e1ce",
        "2db5168e932556f8089a0622981d017d", "", "fa4362189661d163fcd6a56d8bf0405a d636ac1bbedd5cc3ee727dc2ab4a9489"
      ),
      (
        "83688deb4af8007f9b713b47cfa6c73e35ea7a3aa4ecdb414dded03bf7a0fd3a", "0b459724904e010a46901cf3",
        "33d893a2114ce06fc15d55e454cf90c3", "794a14ccd178c8ebfd1379dc704c5e208f9d8424",
        "cc66bee423e3fcd4c0865715e9586696 0fb291bd3dba94a1dfd8b286cfb97ac5"
      ),
      (
        "24501ad384e473963d476edcfe08205237acfd49b5b8f33857f8114e863fec7f", "9ff18563b978ec281b3f2794",
        "27f348f9cdc0c5bd5e66b1ccb63ad920ff2219d14e8d631b3872265cf117ee86757accb158bd9abb3868fdc0d0b074b5f01b2c",
        "adb5ec720ccf9898500028bf34afccbcaca126ef",
        """
        eb7cb754c824e8d96f7c6d9b76c7d26fb874ffbf1d65c6f64a698d839b0b06145dae82057ad55994cf59ad7f67c0fa5e85fab8
        bc95c532fecc594c36d1550286a7a3f0
        """
      ),
    ]
    for test in cases {
      let (key, nonce, data) = (SecretBytes(hex(test.key)), hex(test.nonce), hex(test.data))
      let ciphertext = try GCMCipher.seal(SecretBytes(hex(test.plaintext)), key: key, nonce: nonce, authenticating: data)
      XCTAssertEqual(ciphertext, hex(test.ciphertext))
      XCTAssertEqual(try GCMCipher.open(ciphertext, key: key, nonce: nonce, authenticating: data)?.bytes, hex(test.plaintext))
      for index in ciphertext.indices {
        var changed = ciphertext
        changed[index] ^= 1
        XCTAssertNil(try GCMCipher.open(changed, key: key, nonce: nonce, authenticating: data))
      }
      XCTAssertNil(try GCMCipher.open(ciphertext, key: key, nonce: nonce, authenticating: data + [0]))
      XCTAssertNil(try GCMCipher.open(ciphertext.prefix(15), key: key, nonce: nonce, authenticating: data))
    }
  }

  func testACipherIsUsedForOneMessageAfterTheOther() throws {
    let key = try Random.secret()
    let (sealer, opener) = (try GCMCipher(key: key, .seal), try GCMCipher(key: key, .open))
    for size in [0, 1, 15, 16, 17, 300, 5_000] {
      var buffer = [UInt8](repeating: 7, count: size) + [UInt8](repeating: 0, count: GCMCipher.tagSize)
      let nonce = try Random.bytes(12)
      try buffer.withUnsafeMutableBytes { try sealer.seal($0, nonce: nonce, authenticating: [1, 2]) }
      var changed = buffer
      changed[size] ^= 0x80
      XCTAssertFalse(try changed.withUnsafeMutableBytes { try opener.open($0, nonce: nonce, authenticating: [1, 2]) })
      XCTAssertTrue(changed.allSatisfy { $0 == 0 }, "nothing unauthenticated remains")
      XCTAssertTrue(try buffer.withUnsafeMutableBytes { try opener.open($0, nonce: nonce, authenticating: [1, 2]) })
      XCTAssertEqual(buffer.prefix(size), [UInt8](repeating: 7, count: size)[...])
    }
  }

  func testAKeyOfAnotherSizeIsAnError() {
    XCTAssertThrowsError(try GCMCipher(key: SecretBytes([1, 2, 3]), .seal)) { XCTAssertTrue($0 is SyncCryptoError) }
    XCTAssertThrowsError(try SigningKey(seed: SecretBytes([1, 2, 3]))) { XCTAssertTrue($0 is SyncCryptoError) }
    XCTAssertThrowsError(try AgreementKey(privateKey: SecretBytes([1, 2, 3]))) { XCTAssertTrue($0 is SyncCryptoError) }
  }

  /// RFC 4231, test cases 1 and 2.
  func testMessageAuthentication() throws {
    let first = try HMAC(key: SecretBytes(Array(repeating: 0x0b, count: 20)))
    for _ in 0..<3 {
      XCTAssertEqual(
        try Array("Hi There".utf8).withUnsafeBytes { try first.code(of: $0) }.bytes,
        hex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"))
    }
    let second = try HMAC(key: SecretBytes("Jefe".utf8))
    XCTAssertEqual(
      try Array("what do ya want for nothing?".utf8).withUnsafeBytes { try second.code(of: $0) }.bytes,
      hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
  }

  /// FIPS 180-4's example "abc", in one and in two parts.
  func testDigests() throws {
    let expected = hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    XCTAssertEqual(try SHA256.digest(of: Array("abc".utf8)).bytes, expected)
    let context = try SHA256()
    for _ in 0..<3 { XCTAssertEqual(try context.digest(of: Array("a".utf8), Array("bc".utf8)).bytes, expected) }
  }

  /// RFC 8032, section 7.1, tests 1 to 3.
  func testSignatures() throws {
    let cases = [
      (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        """
        e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b
        d25bf5f0595bbe24655141438e7a100b
        """
      ),
      (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        """
        92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c
        387b2eaeb4302aeeb00d291612bb0c00
        """
      ),
      (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
        """
        6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659
        4a7c15e9716ed28dc027beceea1ec40a
        """
      ),
    ]
    for (seed, publicKey, message, signature) in cases {
      let key = try SigningKey(seed: SecretBytes(hex(seed)))
      XCTAssertEqual(key.publicKey, hex(publicKey))
      XCTAssertEqual(try key.signature(of: hex(message)), hex(signature))
      XCTAssertTrue(try SigningKey.isValid(hex(signature), of: hex(message), by: hex(publicKey)))
      for index in 0..<64 {
        var changed = hex(signature)
        changed[index] ^= 0x10
        XCTAssertFalse(try SigningKey.isValid(changed, of: hex(message), by: hex(publicKey)))
      }
      XCTAssertFalse(try SigningKey.isValid(hex(signature), of: hex(message) + [0], by: hex(publicKey)))
      XCTAssertFalse(try SigningKey.isValid([], of: hex(message), by: hex(publicKey)))
    }
  }

  /// RFC 7748, section 5.2.
  func testKeyAgreement() throws {
    let cases = [
      (
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
      ),
      (
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
      ),
    ]
    for (privateKey, publicKey, secret) in cases {
      let key = try AgreementKey(privateKey: SecretBytes(hex(privateKey)))
      XCTAssertEqual(try key.sharedSecret(with: hex(publicKey)).bytes, hex(secret))
    }
  }

  func testBothSidesAgreeAndPointsOfLowOrderAreRefused() throws {
    let (one, other) = (try AgreementKey.random(), try AgreementKey.random())
    XCTAssertEqual(try one.sharedSecret(with: other.publicKey), try other.sharedSecret(with: one.publicKey))
    for publicKey in [[UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31), [], [1, 2, 3]] {
      XCTAssertThrowsError(try one.sharedSecret(with: publicKey)) { XCTAssertEqual($0 as? SyncCryptoError, .invalidPublicKey) }
    }
  }
}
