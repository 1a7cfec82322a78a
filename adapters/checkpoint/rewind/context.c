/* What C cannot express. */
#include "rewind/context.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "raw_call.h"

enum {
  kFeatures = 10,       /* of words: the parts that XRSTOR handles; 0: there is no XRSTOR */
  kProtectionKeys = 11, /* the register, or kNoKeys */
  kBaseOfGs = 12,
  kHasBases =
      13, /* whether a program can write it itself; if it asks the kernel instead, that is noted */
  kSelectors = 14 /* ds, es, gs, 16 bits each. Without fs there is no C, and no request's end. */
};
_Static_assert(offsetof(struct context, first_state) == 192, "as the assembly below has it");
#define kNoKeys (~0ull)
#define kKeysFeature (1ull << 9)

static uint64_t features_in_use(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

/* AT_HWCAP2, which libc may not know yet. */
static int has_instructions_for_bases(void) {
  Elf64_auxv_t entries[64];
  long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/auxv", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  long bytes = raw_call(SYS_read, fd, entries, sizeof entries);
  raw_call(SYS_close, fd);
  for (long i = 0; i < bytes / (long)sizeof *entries; ++i) {
    if (entries[i].a_type == AT_HWCAP2) return (entries[i].a_un.a_val & 2) != 0;
  }
  return 0;
}

static void segments_prepare(struct context *context) {
  uint16_t selectors[4] = {0};
  __asm__ volatile("mov %%ds, %0\n\tmov %%es, %1\n\tmov %%gs, %2"
                   : "=r"(selectors[0]), "=r"(selectors[1]), "=r"(selectors[2]));
  memcpy(&context->words[kSelectors], selectors, sizeof selectors);
  context->words[kHasBases] = (uint64_t)has_instructions_for_bases();
  if (context->words[kHasBases] != 0)
    __asm__ volatile("rdgsbase %0" : "=r"(context->words[kBaseOfGs]));
}

const char *context_prepare(struct context *context) {
  uint32_t a, b, c, d;
  uint64_t guard = 0;
  memset(context, 0, sizeof *context);
  segments_prepare(context);
  context->words[kProtectionKeys] = kNoKeys;
  __asm__ volatile("rdsspq %0" : "+r"(guard)); /* does nothing where there is no shadow stack */
  if (guard != 0) return "the processor guards where its functions return to";
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return NULL;
  enum { kOfStates = 13 }; /* CPUID: EBX is the size of an area for all that is in use */
  if (__get_cpuid_count(kOfStates, 0, &a, &b, &c, &d) == 0 || b > kFirstStateBytes)
    return "the processor has more registers than are known";
  /* The register of the keys is not part of a computation: it is put back as it was. */
  context->words[kFeatures] = features_in_use() & ~kKeysFeature;
  if ((features_in_use() & kKeysFeature) == 0) return NULL;
  __asm__ volatile("rdpkru" : "=a"(a), "=d"(d) : "c"(0));
  context->words[kProtectionKeys] = a;
  return NULL;
}

__asm__(
    ".text\n"
    ".globl context_save\n.hidden context_save\n.type context_save, @function\n"
    "context_save:\n"
    "  mov %rbx, 0(%rdi)\n  mov %rbp, 8(%rdi)\n  mov %r12, 16(%rdi)\n  mov %r13, 24(%rdi)\n"
    "  mov %r14, 32(%rdi)\n  mov %r15, 40(%rdi)\n"
    "  lea 8(%rsp), %rdx\n  mov %rdx, 48(%rdi)\n"
    "  mov (%rsp), %rdx\n  mov %rdx, 56(%rdi)\n"
    "  stmxcsr 64(%rdi)\n  fnstcw 72(%rdi)\n"
    "  mov 64(%rdi), %edx\n  mov %edx, 192 + 24(%rdi)\n"
    "  xor %eax, %eax\n  ret\n"
    ".size context_save, . - context_save\n"

    ".globl context_resume\n.hidden context_resume\n.type context_resume, @function\n"
    "context_resume:\n"
    "  push $0x202\n  popf\n"
    "  mov %ds, %eax\n  cmp 112(%rdi), %ax\n  je 3f\n  mov 112(%rdi), %ds\n"
    "3:\n  mov %es, %eax\n  cmp 114(%rdi), %ax\n  je 4f\n  mov 114(%rdi), %es\n"
    "4:\n  mov %gs, %eax\n  cmp 116(%rdi), %ax\n  je 5f\n  mov 116(%rdi), %gs\n"
    "5:\n  cmpq $0, 104(%rdi)\n  je 6f\n"
    "  rdgsbase %rax\n  cmp 96(%rdi), %rax\n  je 6f\n"
    "  mov 96(%rdi), %rax\n  wrgsbase %rax\n"
    "6:\n"
    "  mov 80(%rdi), %eax\n  mov 84(%rdi), %edx\n  mov %eax, %ecx\n  or %edx, %ecx\n  jz 1f\n"
    "  xrstor64 192(%rdi)\n"
    "1:\n  cmpq $-1, 88(%rdi)\n  je 2f\n"
    "  mov 88(%rdi), %eax\n  xor %ecx, %ecx\n  xor %edx, %edx\n  wrpkru\n"
    "2:\n  fninit\n  fldcw 72(%rdi)\n  ldmxcsr 64(%rdi)\n"
    "  pxor %xmm0, %xmm0\n  pxor %xmm1, %xmm1\n  pxor %xmm2, %xmm2\n  pxor %xmm3, %xmm3\n"
    "  pxor %xmm4, %xmm4\n  pxor %xmm5, %xmm5\n  pxor %xmm6, %xmm6\n  pxor %xmm7, %xmm7\n"
    "  pxor %xmm8, %xmm8\n  pxor %xmm9, %xmm9\n  pxor %xmm10, %xmm10\n  pxor %xmm11, %xmm11\n"
    "  pxor %xmm12, %xmm12\n  pxor %xmm13, %xmm13\n  pxor %xmm14, %xmm14\n  pxor %xmm15, %xmm15\n"
    "  mov 0(%rdi), %rbx\n  mov 8(%rdi), %rbp\n  mov 16(%rdi), %r12\n  mov 24(%rdi), %r13\n"
    "  mov 32(%rdi), %r14\n  mov 40(%rdi), %r15\n  mov 48(%rdi), %rsp\n"
    "  xor %ecx, %ecx\n  xor %edx, %edx\n  xor %esi, %esi\n  xor %r8d, %r8d\n"
    "  xor %r9d, %r9d\n  xor %r10d, %r10d\n  xor %r11d, %r11d\n"
    "  mov $1, %eax\n  jmp *56(%rdi)\n"
    ".size context_resume, . - context_resume\n"

    ".globl context_call_on\n.hidden context_call_on\n.type context_call_on, @function\n"
    "context_call_on:\n"
    "  mov %rdi, %rsp\n  push $0x202\n  popf\n  xor %ebp, %ebp\n  call *%rsi\n  ud2\n"
    ".size context_call_on, . - context_call_on\n");

#elif defined(__aarch64__)

#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "raw_call.h"

#ifndef PR_GET_TAGGED_ADDR_CTRL
#define PR_GET_TAGGED_ADDR_CTRL 56
#endif

enum { kFeatures = 22 }; /* of words: the registers that not every processor has, a bit for each */
enum feature {
  HAS_SVE,
  HAS_SME,
  HAS_TIMING,
  HAS_BYPASS,
  HAS_TAG_CHECKS,
  HAS_FLOATS_OF_8_BITS,
  HAS_KEYS,
  FEATURES
};

/* In AT_HWCAP or AT_HWCAP2, which libc's headers may not know yet. */
static const struct {
  unsigned long list, bit;
} kKnownBy[FEATURES] = {
    [HAS_SVE] = {AT_HWCAP, 1ul << 22},         [HAS_SME] = {AT_HWCAP2, 1ul << 23},
    [HAS_TIMING] = {AT_HWCAP, 1ul << 24},      [HAS_BYPASS] = {AT_HWCAP, 1ul << 28},
    [HAS_TAG_CHECKS] = {AT_HWCAP2, 1ul << 18}, [HAS_FLOATS_OF_8_BITS] = {AT_HWCAP2, 1ul << 48},
    [HAS_KEYS] = {AT_HWCAP2, 1ul << 63},
};

_Static_assert(offsetof(struct context, first_state) == 192, "as the assembly below has it");

/* Modes that a program sets by an instruction are put back as they were. */
static void modes_prepare(uint64_t features, uint64_t *modes) {
#define READ(feature, name) \
  if ((features >> feature & 1) != 0) __asm__ volatile("mrs %0, " name : "=r"(modes[feature]))
  READ(HAS_SME, "S3_3_C13_C0_5");             /* TPIDR2_EL0 */
  READ(HAS_TIMING, "S3_3_C4_C2_5");           /* DIT */
  READ(HAS_BYPASS, "S3_3_C4_C2_6");           /* SSBS */
  READ(HAS_TAG_CHECKS, "S3_3_C4_C2_7");       /* TCO */
  READ(HAS_FLOATS_OF_8_BITS, "S3_3_C4_C4_2"); /* FPMR */
  READ(HAS_KEYS, "S3_3_C10_C2_4");            /* POR_EL0 */
#undef READ
}

/* CHKFEAT: clears the bit if there is a stack of return addresses; elsewhere it does nothing. */
static int returns_are_guarded(void) {
  register uint64_t asked __asm__("x16") = 1;
  __asm__ volatile("hint #40" : "+r"(asked));
  return asked == 0;
}

/* Tags are not part of what is read from memory, and so not of the snapshot. */
static int checks_tags(void) {
  enum { kChecks = 6 };
  long control = raw_call(SYS_prctl, PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0);
  return control > 0 && (control & kChecks) != 0;
}

const char *context_prepare(struct context *context) {
  uint64_t features = 0, svcr = 0;
  memset(context, 0, sizeof *context);
#if !defined(CGIBRIDGE_REWIND_ON_AARCH64)
  return "it is not proven on aarch64 that a rewind puts all back";
#endif
  if (returns_are_guarded()) return "the processor guards where its functions return to";
  if (checks_tags()) return "its memory is tagged";
  for (int feature = 0; feature < FEATURES; ++feature) {
    if ((getauxval(kKnownBy[feature].list) & kKnownBy[feature].bit) != 0) features |= 1u << feature;
  }
  if ((features >> HAS_SME & 1) != 0) __asm__ volatile("mrs %0, S3_3_C4_C2_2" : "=r"(svcr));
  if (svcr != 0) return "it computes with matrices at the checkpoint";
  context->words[kFeatures] = features;
  uint64_t modes[FEATURES] = {0};
  modes_prepare(features, modes);
  memcpy(context->first_state, modes, sizeof modes);
  return NULL;
}

/* A mode of feature number n is at 192 + 8 n. */
#define PUT_BACK(number, name) \
  "  tbz x9, " number ", 1f\n  ldr x10, [x0, 192 + 8 * " number "]\n  msr " name ", x10\n1:\n"

__asm__(
    ".text\n"
    ".globl context_save\n.hidden context_save\n.type context_save, %function\n"
    "context_save:\n"
    "  stp x19, x20, [x0]\n  stp x21, x22, [x0, 16]\n  stp x23, x24, [x0, 32]\n"
    "  stp x25, x26, [x0, 48]\n  stp x27, x28, [x0, 64]\n  stp x29, x30, [x0, 80]\n"
    "  mov x2, sp\n  mrs x3, fpcr\n  stp x2, x3, [x0, 96]\n"
    "  stp d8, d9, [x0, 112]\n  stp d10, d11, [x0, 128]\n"
    "  stp d12, d13, [x0, 144]\n  stp d14, d15, [x0, 160]\n"
    "  mov w0, 0\n  ret\n"
    ".size context_save, . - context_save\n"

    ".globl context_resume\n.hidden context_resume\n.type context_resume, %function\n"
    "context_resume:\n"
    "  ldr x9, [x0, 176]\n"
    "  tbz x9, 1, 1f\n  .inst 0xd503467f\n1:\n" /* SMSTOP: no matrix, no streaming mode */
    PUT_BACK("1", "S3_3_C13_C0_5") PUT_BACK("2", "S3_3_C4_C2_5") PUT_BACK("3", "S3_3_C4_C2_6")
    PUT_BACK("4", "S3_3_C4_C2_7") PUT_BACK("5", "S3_3_C4_C4_2") PUT_BACK("6", "S3_3_C10_C2_4")
    "  isb\n"
    ".arch_extension sve\n"
    "  tbz x9, 0, 1f\n"
    "  pfalse p0.b\n  pfalse p1.b\n  pfalse p2.b\n  pfalse p3.b\n"
    "  pfalse p4.b\n  pfalse p5.b\n  pfalse p6.b\n  pfalse p7.b\n"
    "  pfalse p8.b\n  pfalse p9.b\n  pfalse p10.b\n  pfalse p11.b\n"
    "  pfalse p12.b\n  pfalse p13.b\n  pfalse p14.b\n  pfalse p15.b\n"
    "  wrffr p0.b\n1:\n"
    ".arch_extension nosve\n"
    /* Registers wider than 128 bits are cleared with the rest. */
    "  movi v0.2d, 0\n  movi v1.2d, 0\n  movi v2.2d, 0\n  movi v3.2d, 0\n"
    "  movi v4.2d, 0\n  movi v5.2d, 0\n  movi v6.2d, 0\n  movi v7.2d, 0\n"
    "  movi v16.2d, 0\n  movi v17.2d, 0\n  movi v18.2d, 0\n  movi v19.2d, 0\n"
    "  movi v20.2d, 0\n  movi v21.2d, 0\n  movi v22.2d, 0\n  movi v23.2d, 0\n"
    "  movi v24.2d, 0\n  movi v25.2d, 0\n  movi v26.2d, 0\n  movi v27.2d, 0\n"
    "  movi v28.2d, 0\n  movi v29.2d, 0\n  movi v30.2d, 0\n  movi v31.2d, 0\n"
    "  ldp x19, x20, [x0]\n  ldp x21, x22, [x0, 16]\n  ldp x23, x24, [x0, 32]\n"
    "  ldp x25, x26, [x0, 48]\n  ldp x27, x28, [x0, 64]\n  ldp x29, x30, [x0, 80]\n"
    "  ldp x2, x3, [x0, 96]\n  mov sp, x2\n  msr fpcr, x3\n  msr fpsr, xzr\n"
    "  msr nzcv, xzr\n"
    "  ldp d8, d9, [x0, 112]\n  ldp d10, d11, [x0, 128]\n"
    "  ldp d12, d13, [x0, 144]\n  ldp d14, d15, [x0, 160]\n"
    "  mov x1, 0\n  mov x2, 0\n  mov x3, 0\n  mov x4, 0\n  mov x5, 0\n  mov x6, 0\n  mov x7, 0\n"
    "  mov x8, 0\n  mov x9, 0\n  mov x10, 0\n  mov x11, 0\n  mov x12, 0\n  mov x13, 0\n"
    "  mov x14, 0\n  mov x15, 0\n  mov x16, 0\n  mov x17, 0\n  mov x18, 0\n"
    "  mov w0, 1\n  ret\n"
    ".size context_resume, . - context_resume\n"

    ".globl context_call_on\n.hidden context_call_on\n.type context_call_on, %function\n"
    "context_call_on:\n"
    "  mov sp, x0\n  mov x29, 0\n  mov x30, 0\n  blr x1\n  brk 1\n"
    ".size context_call_on, . - context_call_on\n");

#endif
