// 32 tasks of a few seconds, each with a file, and one that gathers them.
process WORK {
    tag "$number"
    errorStrategy 'retry'
    maxRetries 3
    input: val number
    output: path 'large'
    script: "sleep 3; seq $number 20000 > large; echo started >> ${params.started}/$number"
}
process GATHER {
    publishDir "${params.out}", mode: 'copy'
    input: path 'large*'
    output: path 'total.txt'
    script: "set -o pipefail; cat large* | awk '{s += \$1} END {print s}' > total.txt"
}
workflow { Channel.of(1..32) | WORK | collect | GATHER }
