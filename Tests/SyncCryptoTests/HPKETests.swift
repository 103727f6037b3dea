import StoreKeys
import XCTest

@testable import SyncCrypto

final class HPKETests: XCTestCase {
  private struct Vector {
    let aead: HPKE.AEAD
    let (receiver, receiverPublic, ephemeral, encapsulated): (String, String, String, String)
    /// The ciphertexts of some of 257 messages.
    let ciphertexts: [Int: String]
  }

  /// RFC 9180, appendix A.1.1, and the vector with AES-256-GCM of test-vectors.json, which the same authors published with the standard.
  private static let vectors = [
    Vector(
      aead: .aes128GCM,
      receiver: "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
      receiverPublic: "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
      ephemeral: "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
      encapsulated: "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
      ciphertexts: [
        0: "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
        1: "af2d7e9ac9ae7e270f46ba1f975be53c09f8d875bdc8535458c2494e8a6eab251c03d0c22a56b8ca42c2063b84",
        2: "498dfcabd92e8acedc281e85af1cb4e3e31c7dc394a1ca20e173cb72516491588d96a19ad4a683518973dcc180",
        4: "583bd32bc67a5994bb8ceaca813d369bca7b2a42408cddef5e22f880b631215a09fc0012bc69fccaa251c0246d",
        255: "7175db9717964058640a3a11fb9007941a5d1757fda1a6935c805c21af32505bf106deefec4a49ac38d71c9e0a",
        256: "957f9800542b0b8891badb026d79cc54597cb2d225b54c00c5238c25d05c30e3fbeda97d2e0e1aba483a2df9f2",
      ]),
    Vector(
      aead: .aes256GCM,
      receiver: "497b4502664cfea5d5af0b39934dac72242a74f8480451e1aee7d6a53320333d",
      receiverPublic: "430f4b9859665145a6b1ba274024487bd66f03a2dd577d7753c68d7d7d00c00c",
      ephemeral: "179d4b53b6365c45b600c4163b61d95cbc2f4d9e36f1695558dce265ab8bab11",
      encapsulated: "6c93e09869df3402d7bf231bf540fadd35cd56be14f97178f0954db94b7fc256",
      ciphertexts: [
        0: "e5d84cd531cfb583096e7cfa9641bd3079cf3a91cda813c52deb5f512be9931980a41de125a925cdad859d5b7a",
        1: "2c43aff25343fdbff864506f0818b9d87df84ea01b1a2144d23b4d40c26bf655fdf197fe40297a8aebeed5cc2d",
        2: "e0a8f2cf92ff61215edbb8c55dc31fe9e2eb42a5685867bb6854211542099f9e940c4b41c192bc390835b1a5f7",
        4: "448a8892f261cbb6bf5b7b64a4fae8a2c86492494b069c10525895d871c27c2f12cd17e0588fedaba9f7b0cd4c",
        255: "f6ad1823eb0b932d04b6e23010eea64f1fe5edd0583dae5ba27ca6363f4ea104bd217331460ef4208040423641",
        256: "53624f4f9f173453b14e633b45390ff54cacaa4428d44baee1bff8133fab1ab3afe60f88e4634b525c54e92eda",
      ]),
  ]

  func testPublishedVectors() throws {
    let information = hex("4f6465206f6e2061204772656369616e2055726e")
    let plaintext = SecretBytes(hex("4265617574792069732074727574682c20747275746820626561757479"))
    for vector in Self.vectors {
      let key = try AgreementKey(privateKey: SecretBytes(hex(vector.receiver)))
      XCTAssertEqual(key.publicKey, hex(vector.receiverPublic))
      let ephemeral = try AgreementKey(privateKey: SecretBytes(hex(vector.ephemeral)))
      var (sender, encapsulated) = try HPKE.Context.sender(to: key.publicKey, information, vector.aead, ephemeral: ephemeral)
      XCTAssertEqual(encapsulated, hex(vector.encapsulated))
      var receiver = try HPKE.Context.receiver(encapsulated, with: key, information, vector.aead)
      for number in 0...256 {
        let data = Array("Count-\(number)".utf8)
        let ciphertext = try sender.seal(plaintext, authenticating: data)
        if let expected = vector.ciphertexts[number] { XCTAssertEqual(ciphertext, hex(expected), "message \(number)") }
        XCTAssertEqual(try receiver.open(ciphertext, authenticating: data), plaintext)
      }
    }
  }

  func testAMessageIsOpenedByItsReceiverForItsPurposeOnly() throws {
    for aead in [HPKE.AEAD.aes128GCM, .aes256GCM] {
      let (key, secret) = (try AgreementKey.random(), try Random.secret(1_000))
      let message = try HPKE.seal(secret, to: key.publicKey, [1, 2, 3], aead)
      XCTAssertEqual(try HPKE.open(message, with: key, [1, 2, 3], aead), secret)
      XCTAssertNil(try HPKE.open(message, with: key, [1, 2], aead))
      XCTAssertNil(try HPKE.open(message, with: .random(), [1, 2, 3], aead))
      XCTAssertNil(try HPKE.open(message, with: key, [1, 2, 3], aead == .aes128GCM ? .aes256GCM : .aes128GCM))
      for index in message.ciphertext.indices {
        var changed = message
        changed.ciphertext[index] ^= 1
        XCTAssertNil(try HPKE.open(changed, with: key, [1, 2, 3], aead))
      }
      for index in message.encapsulatedKey.indices {
        var changed = message
        // Also the highest bit, which X25519 ignores: the key schedule contains the bytes.
        changed.encapsulatedKey[index] ^= 0x80
        XCTAssertNil(try HPKE.open(changed, with: key, [1, 2, 3], aead))
      }
      XCTAssertNotEqual(try HPKE.seal(secret, to: key.publicKey, [], aead), try HPKE.seal(secret, to: key.publicKey, [], aead))
    }
  }
}
